/**
 * The disks of the host, and whether it is beyond doubt which of them the node's STATE is on.
 *
 * Invariant: a copy of the node's disk beside it is told, and a STATE that may be the copy's is not worked with.
 */
import { readdirSync, readFileSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { mountOf } from './state-disk.ts'

export type Partition = {
  readonly name: string
  readonly disk: string
  /** Name in the partition table (GPT); empty without. Those of the system hold its version. */
  readonly label: string
  /** First byte after it. */
  readonly end: number
}
export type DisksSeen = {
  /** Partitions that the root, or the verified device below it, is made of; disks where it is on no partition. */
  readonly root: readonly string[]
  /** Disk that the state folder is on; undefined when it is on no disk. */
  readonly stateDisk: string | undefined
  readonly partitions: readonly Partition[]
  /** Of each disk, its size in bytes, and what tells it from others: its serial number, else the place that it is attached at. */
  readonly disks: ReadonlyMap<string, { readonly bytes: number; readonly id: string }>
}
export type DiskVerdict =
  | { readonly kind: 'alone' }
  /** Told, and no reason not to work. */
  | { readonly kind: 'told'; readonly message: string; readonly remedy: string }
  | { readonly kind: 'ambiguous'; readonly reason: string }

export const STATE_LABEL = 'state'
const MAX_DEVICES = 4096
/** The kernel counts sectors of 512 bytes, whatever the disk has (Documentation/ABI/stable/sysfs-block). */
const SECTOR = 512

/** Reads what the kernel tells of its block devices below `sys`. Devices that go away meanwhile are left out. */
export function observeDisks(options: {
  readonly mountinfo: string
  readonly directory: string
  readonly sys?: string
}): DisksSeen {
  const { mountinfo, directory, sys = '/sys' } = options
  const devices = namesIn(join(sys, 'class/block'))
    .slice(0, MAX_DEVICES)
    .flatMap((name) => realPath(join(sys, 'class/block', name)) ?? [])
  const of = (path: string) => realPath(join(sys, 'dev/block', mountOf(mountinfo, path)?.device ?? 'none'))
  const root = of('/')
  const state = of(directory)
  return {
    root: root === undefined ? [] : belowOf(root),
    stateDisk: state === undefined ? undefined : diskOf(state),
    partitions: devices.flatMap(partitionAt),
    disks: new Map(
      devices
        .filter((path) => !isPartition(path))
        .map((path) => [
          basename(path),
          { bytes: Number(textOf(join(path, 'size'))) * SECTOR, id: idOf(path) },
        ]),
    ),
  }
}

/** Judges what was seen; `known` is the disk that STATE was last on alone. Pure. */
export function judgeDisks(seen: DisksSeen, known: string | undefined): DiskVerdict {
  const { stateDisk, partitions } = seen
  const system = partitions.filter(({ name }) => seen.root.includes(name))
  const systemDisks = unique(system.map(({ disk }) => disk))
  const own = stateDisk ?? systemDisks[0]
  if (own === undefined) return { kind: 'alone' }
  if (systemDisks.some((disk) => disk !== own)) {
    const reason = `the system is on ${inWords(systemDisks)}, and STATE is on ${own}`
    return { kind: 'ambiguous', reason }
  }
  const states = partitions.filter(({ label }) => label === STATE_LABEL).map(({ disk }) => disk)
  if (states.filter((disk) => disk === own).length > 1) {
    return { kind: 'ambiguous', reason: `the disk ${own} has more than one partition \`${STATE_LABEL}\`` }
  }
  const labels = system.map(({ label }) => label).filter((label) => label !== '')
  const others = partitions.filter(({ disk }) => disk !== own)
  const copies = unique(others.filter(({ label }) => labels.includes(label)).map(({ disk }) => disk))
  const clones = copies.filter((disk) => states.includes(disk))
  const isKnown = known === undefined || known === seen.disks.get(own)?.id
  if (clones.length > 0 && stateDisk !== undefined && !isKnown) {
    const reason = `${inWords([own, ...clones])} hold the same system, and the STATE on ${own} is another disk's`
    return { kind: 'ambiguous', reason }
  }
  return told(own, copies, unique(states.filter((disk) => disk !== own && !copies.includes(disk))))
}

function told(own: string, copies: readonly string[], strays: readonly string[]): DiskVerdict {
  if (copies.length > 0) {
    const message = `${inWords([own, ...copies])} hold the same system; the node works with the STATE on ${own}`
    return { kind: 'told', message, remedy: 'detach the copy' }
  }
  if (strays.length === 0) return { kind: 'alone' }
  const message = `there is a partition \`${STATE_LABEL}\` on ${strays.join(', ')} too; it is not used`
  return { kind: 'told', message, remedy: 'detach the disk, if it is not meant to be here' }
}

function inWords(disks: readonly string[]): string {
  return `the ${disks.length === 1 ? 'disk' : 'disks'} ${disks.join(' and ')}`
}

function unique(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort()
}

/** What a mapped device is made of; any other device is made of itself. */
function belowOf(path: string): readonly string[] {
  const below = namesIn(join(path, 'slaves'))
  return below.length > 0 ? below : [basename(path)]
}

function diskOf(path: string): string {
  return basename(isPartition(path) ? dirname(path) : path)
}

function isPartition(path: string): boolean {
  return textOf(join(path, 'partition')) !== ''
}

function partitionAt(path: string): readonly Partition[] {
  if (!isPartition(path)) return []
  const event = textOf(join(path, 'uevent'))
  const number = (name: string) => Number(textOf(join(path, name)))
  return [
    {
      ...{ name: basename(path), disk: diskOf(path) },
      label: /^PARTNAME=(.*)$/m.exec(event)?.[1] ?? '',
      end: (number('start') + number('size')) * SECTOR,
    },
  ]
}

function idOf(path: string): string {
  const told = ['wwid', 'serial', 'device/wwid', 'device/serial'].map((name) => textOf(join(path, name)))
  return told.find((text) => text !== '')?.slice(0, 256) ?? `at ${dirname(dirname(path))}`
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).sort()
  } catch {
    return []
  }
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8').slice(0, 4096).trim()
  } catch {
    return ''
  }
}
