/**
 * The few facts of an ELF file that decide what a root file system needs: is it a program, which libraries does it load, which loader.
 *
 * Invariant: reads 64-bit little-endian files only, which is all that these images hold; anything else is "not ELF". Source: System V ABI,
 * "Object Files" and "Dynamic Linking".
 */
export type Elf = {
  readonly needed: readonly string[]
  readonly loader: string | undefined
  readonly isExecutable: boolean
}

const PT_LOAD = 1
const PT_DYNAMIC = 2
const PT_INTERP = 3
const DT_NEEDED = 1n
const DT_STRTAB = 5n
const ET_EXEC = 2
const ET_DYN = 3

type Segment = {
  readonly type: number
  readonly offset: number
  readonly address: number
  readonly size: number
}

/** Returns undefined when the bytes are not a 64-bit little-endian ELF file. */
export function readElf(bytes: Buffer): Elf | undefined {
  if (bytes.length < 64 || bytes.readUInt32BE(0) !== 0x7f454c46 || bytes[4] !== 2 || bytes[5] !== 1)
    return undefined
  const type = bytes.readUInt16LE(16)
  if (type !== ET_EXEC && type !== ET_DYN) return undefined
  const segments = readSegments(bytes)
  const loaderAt = segments.find((segment) => segment.type === PT_INTERP)
  const loader = loaderAt ? text(bytes, loaderAt.offset) : undefined
  return {
    needed: readNeeded(bytes, segments),
    loader,
    isExecutable: type === ET_EXEC || loader !== undefined,
  }
}

function readSegments(bytes: Buffer): readonly Segment[] {
  const start = Number(bytes.readBigUInt64LE(32))
  const entry = bytes.readUInt16LE(54)
  const count = bytes.readUInt16LE(56)
  const fits = (at: number) => at >= 0 && at + 56 <= bytes.length
  return Array.from({ length: count }, (_, index) => start + index * entry)
    .filter(fits)
    .map((at) => ({
      type: bytes.readUInt32LE(at),
      offset: Number(bytes.readBigUInt64LE(at + 8)),
      address: Number(bytes.readBigUInt64LE(at + 16)),
      size: Number(bytes.readBigUInt64LE(at + 32)),
    }))
}

function readNeeded(bytes: Buffer, segments: readonly Segment[]): readonly string[] {
  const dynamic = segments.find((segment) => segment.type === PT_DYNAMIC)
  if (!dynamic) return []
  const names: number[] = []
  let table: number | undefined
  const end = Math.min(dynamic.offset + dynamic.size, bytes.length - 15)
  for (let at = dynamic.offset; at < end; at += 16) {
    const tag = bytes.readBigInt64LE(at)
    const value = Number(bytes.readBigUInt64LE(at + 8))
    if (tag === DT_NEEDED) names.push(value)
    if (tag === DT_STRTAB) table = offsetOf(value, segments)
  }
  const strings = table
  return strings === undefined ? [] : names.map((name) => text(bytes, strings + name))
}

function offsetOf(address: number, segments: readonly Segment[]): number | undefined {
  const home = segments.find(
    (segment) =>
      segment.type === PT_LOAD && address >= segment.address && address < segment.address + segment.size,
  )
  return home && address - home.address + home.offset
}

function text(bytes: Buffer, at: number): string {
  const end = bytes.indexOf(0, at)
  return bytes.toString('latin1', at, end < 0 ? bytes.length : end)
}
