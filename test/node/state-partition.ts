/** The STATE partition in the file of a machine's disk, from outside: found by its label in the GPT (UEFI 2.10, chapter 5.3), read and damaged. */
import { createHash } from 'node:crypto'
import { closeSync, openSync, readSync, writeSync } from 'node:fs'

const SECTOR = 512
/** File systems of ext4 with blocks of 4 KiB have groups of 128 MiB; copies of the superblock are at the beginning of some of them. */
const GROUP = 128 * 1024 ** 2
const SUPERBLOCK = { offset: 1024, length: 1024 } as const

export type Region = { readonly offset: number; readonly length: number }

/** Returns where the partition with this label is, in bytes. Throws when the disk has none. */
export function partitionOf(disk: string, label = 'state'): Region {
  const header = readAt(disk, { offset: SECTOR, length: SECTOR })
  if (header.toString('latin1', 0, 8) !== 'EFI PART') throw new Error(`${disk} has no GPT`)
  const [at, count, size] = [
    Number(header.readBigUInt64LE(72)),
    header.readUInt32LE(80),
    header.readUInt32LE(84),
  ]
  const table = readAt(disk, { offset: at * SECTOR, length: count * size })
  for (let entry = 0; entry < table.length; entry += size) {
    const name = table.toString('utf16le', entry + 56, entry + 128).replace(/\0.*$/s, '')
    if (name !== label) continue
    const [first, last] = [
      Number(table.readBigUInt64LE(entry + 32)),
      Number(table.readBigUInt64LE(entry + 40)),
    ]
    return { offset: first * SECTOR, length: (last - first + 1) * SECTOR }
  }
  throw new Error(`${disk} has no partition ${label}`)
}

/** The superblock of the file system there, and every place where it may have a copy. */
export function superblocksOf(partition: Region): readonly Region[] {
  const groups = Math.ceil(partition.length / GROUP)
  return Array.from({ length: groups }, (_, group) => ({
    offset: partition.offset + (group === 0 ? SUPERBLOCK.offset : group * GROUP),
    length: SUPERBLOCK.length,
  }))
}

/** Writes bytes there that are nothing. Returns what puts back what was there. */
export function destroy(disk: string, regions: readonly Region[]): () => void {
  const before = regions.map((region) => readAt(disk, region))
  const write = (bytesOf: (index: number) => Buffer) => {
    const handle = openSync(disk, 'r+')
    regions.forEach(({ offset, length }, index) => writeSync(handle, bytesOf(index), 0, length, offset))
    closeSync(handle)
  }
  write((index) => Buffer.alloc(before[index]?.length ?? 0, 0xa5))
  return () => write((index) => before[index] ?? Buffer.alloc(0))
}

/** SHA-256 of all the regions. */
export function digestOfRegions(disk: string, regions: readonly Region[]): string {
  const hash = createHash('sha256')
  for (const region of regions) hash.update(readAt(disk, region))
  return hash.digest('hex')
}

function readAt(disk: string, { offset, length }: Region): Buffer {
  const handle = openSync(disk, 'r')
  try {
    const bytes = Buffer.alloc(length)
    readSync(handle, bytes, 0, length, offset)
    return bytes
  } finally {
    closeSync(handle)
  }
}
