/** Whether a disk is large enough for the partitions that the image wants: what systemd-repart only tells its journal. Pure. */
import { STATE_LABEL, type DisksSeen } from './system-disk.ts'

const UNITS: Readonly<Record<string, number>> = { '': 1, K: 1024, M: 1024 ** 2, G: 1024 ** 3, T: 1024 ** 4 }
const MEBIBYTE = 1024 ** 2
/** Without a size, repart.d(5). */
const SMALLEST = 10 * MEBIBYTE

/**
 * Returns the size in bytes that a disk must have at least, in whole MiB. `definitions` are the texts of repart.d(5) in order of their names, of which
 * the first ones are the partitions that exist and end at `ends`. One MiB more holds the backup of the table.
 */
export function bytesNeeded(definitions: readonly string[], ends: readonly number[]): number {
  const missing = definitions.slice(ends.length).map(leastSize)
  const used = Math.max(MEBIBYTE, ...ends)
  const total = missing.reduce((sum, size) => sum + size, used) + MEBIBYTE
  return Math.ceil(total / MEBIBYTE) * MEBIBYTE
}

/**
 * Says why the disk of the root has no STATE, in words for the console, when that is because it is too small for `definitions`. Undefined when there is
 * another reason, which is then to be found.
 */
export function noRoom(seen: DisksSeen, definitions: readonly string[]): string | undefined {
  const disk = seen.partitions.find(({ name }) => seen.root.includes(name))?.disk
  if (disk === undefined) return undefined
  const there = seen.partitions.filter((partition) => partition.disk === disk)
  if (there.some(({ label }) => label === STATE_LABEL)) return undefined
  const needed = bytesNeeded(
    definitions,
    there.map(({ end }) => end),
  )
  const bytes = seen.disks.get(disk)?.bytes ?? 0
  if (bytes >= needed) return undefined
  const [has, wants] = [bytes, needed].map((size) => Math.floor(size / MEBIBYTE))
  return `the disk ${disk} has ${has} MiB and this image needs ${wants} MiB: there is no room for STATE`
}

function leastSize(definition: string): number {
  const [, digits, unit = ''] = /^SizeMinBytes=(\d{1,12})([KMGT]?)$/m.exec(definition) ?? []
  return digits === undefined ? SMALLEST : Number(digits) * (UNITS[unit] ?? 1)
}
