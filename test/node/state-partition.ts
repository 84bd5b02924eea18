/** The STATE partition in the file of a machine's disk, from outside: found by its label in the GPT (UEFI 2.10, chapter 5.3), read and damaged. */
import { createHash } from 'node:crypto'
import { closeSync, openSync, readSync, writeSync } from 'node:fs'

const SECTOR = 512
const PIECE = 16 * 1024 ** 2
/** File systems of ext4 with blocks of 4 KiB have groups of 128 MiB; copies of the superblock are at the beginning of some of them. */
const GROUP = 128 * 1024 ** 2
const SUPERBLOCK = { offset: 1024, length: 1024 } as const

export type Region = { readonly offset: number; readonly length: number }

/** Returns where the partition with this label is, in bytes. Throws when the disk has none. */
export function partitionOf(disk: string, label = 'state'): Region {
  const found = partitionsOf(disk).find((partition) => partition.label === label)
  if (found === undefined) throw new Error(`${disk} has no partition ${label}`)
  return found
}

/** Returns all partitions of a disk, in bytes, in the order of its table. */
export function partitionsOf(disk: string): readonly (Region & { readonly label: string })[] {
  const header = headerOf(disk)
  const [at, count, size] = [
    Number(header.readBigUInt64LE(72)),
    header.readUInt32LE(80),
    header.readUInt32LE(84),
  ]
  const table = readAt(disk, { offset: at * SECTOR, length: count * size })
  return Array.from({ length: count }, (_, index) => table.subarray(index * size, (index + 1) * size))
    .filter((entry) => entry.subarray(0, 16).some((byte) => byte !== 0))
    .map((entry) => {
      const [first, last] = [Number(entry.readBigUInt64LE(32)), Number(entry.readBigUInt64LE(40))]
      return {
        label: entry.toString('utf16le', 56, 128).replace(/\0.*$/s, ''),
        ...{ offset: first * SECTOR, length: (last - first + 1) * SECTOR },
      }
    })
}

/** Returns where the table says that its backup is, in bytes. Throws when there is none. */
export function backupOf(disk: string): number {
  const offset = Number(headerOf(disk).readBigUInt64LE(32)) * SECTOR
  requireHeader(disk, offset)
  return offset
}

function headerOf(disk: string): Buffer {
  return requireHeader(disk, SECTOR)
}

function requireHeader(disk: string, offset: number): Buffer {
  const header = readAt(disk, { offset, length: SECTOR })
  if (header.toString('latin1', 0, 8) !== 'EFI PART') throw new Error(`${disk} has no GPT at ${offset}`)
  return header
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
  for (const { offset, length } of regions) {
    for (let done = 0; done < length; done += PIECE) {
      hash.update(readAt(disk, { offset: offset + done, length: Math.min(PIECE, length - done) }))
    }
  }
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
