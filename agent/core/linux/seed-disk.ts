/**
 * NoCloud seeds: disks labelled `cidata` that a cloud or a hypervisor attaches.
 *
 * Invariants: a seed is mounted read-only, without devices, programs or set-uid, at a folder that nobody else may enter, and only while it is read.
 */
import { constants } from 'node:fs'
import { mkdir, open, readdir, rmdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { CoreFault } from '../fault.ts'
import { pathSource, seedEntry } from '../local/user-data-file.ts'
import type { SourceContent, UserDataSource } from '../ports.ts'
import type { Programs } from './run.ts'
import { isSeedLabel, VOLUME_HEAD, volumeOf, type Volume } from './volume-label.ts'

export type SeedDisk = { readonly device: string; readonly type: Volume['type'] }

/** How disks are found and mounted: the part of seeds that a test replaces. */
export type SeedPort = {
  /** Every disk with the label of a seed, sorted by name. */
  find(): Promise<readonly SeedDisk[]>
  /** Calls `use` with the folder where the disk is mounted, and unmounts it afterwards. Throws CoreFault `source_unreachable`. */
  withMounted<T>(
    disk: SeedDisk,
    use: (folder: string) => Promise<T>,
    options: { readonly signal: AbortSignal },
  ): Promise<T>
}

const MOUNT_MS = 30_000
const MOUNT_OPTIONS = 'ro,nosuid,nodev,noexec'
/** Devices that are made of others, or of memory: no machine gets its seed there. */
const NOT_A_DISK = /^(loop|ram|zram|dm-|md|nbd)/

/** Returns the seeds of this host, mounted below `folder`. */
export function hostSeeds(options: {
  readonly programs: Programs
  readonly folder: string
  readonly blocks?: string
  readonly devices?: string
}): SeedPort {
  const { programs, folder, blocks = '/sys/class/block', devices = '/dev' } = options
  return {
    find: async () => {
      const names = (await readdir(blocks).catch(() => [])).filter((name) => !NOT_A_DISK.test(name)).sort()
      const found: SeedDisk[] = []
      for (const name of names) {
        const device = join(devices, basename(name))
        const volume = await volumeAt(device)
        if (volume !== undefined && isSeedLabel(volume.label)) found.push({ device, type: volume.type })
      }
      return found
    },
    withMounted: async (disk, use, { signal }) => {
      const target = join(folder, `seed-${basename(disk.device)}`)
      await mkdir(target, { recursive: true, mode: 0o700 })
      try {
        const args = ['-t', disk.type, '-o', MOUNT_OPTIONS, '--source', disk.device, '--target', target]
        await programs.run('mount', args, { deadlineMs: MOUNT_MS, signal }).catch((cause: unknown) => {
          signal.throwIfAborted()
          throw new CoreFault('source_unreachable', 'the seed disk cannot be mounted', { cause })
        })
        return await use(target)
      } finally {
        // Also when the caller has left: nothing stays mounted. Lazily, so that a disk that is pulled out does not hold it.
        const ending = { deadlineMs: MOUNT_MS, signal: AbortSignal.timeout(MOUNT_MS) }
        await programs.run('umount', ['--lazy', target], ending).catch(() => undefined)
        await rmdir(target).catch(() => undefined)
      }
    },
  }
}

/** The user data of the first seed that has any; absent when there is no seed or none has. */
export function seedSource(seeds: SeedPort): UserDataSource {
  return {
    kind: 'nocloud',
    location: 'disk labelled cidata',
    read: async ({ signal }) => {
      for (const disk of await seeds.find()) {
        const read = async (folder: string) => pathSource(`${folder}/`).read({ signal })
        const content = await seeds.withMounted(disk, read, { signal })
        if (content.kind === 'data') return named(content, disk)
      }
      return { kind: 'absent' }
    },
  }
}

/** Returns the text of the `meta-data` of the first seed that has one, at most 64 KiB; undefined when none has. */
export async function readMetaData(
  seeds: SeedPort,
  options: { readonly signal: AbortSignal },
): Promise<string | undefined> {
  for (const disk of await seeds.find()) {
    const text = await seeds.withMounted(disk, metaDataOf, options)
    if (text !== undefined) return text
  }
  return undefined
}

async function metaDataOf(folder: string): Promise<string | undefined> {
  const name = seedEntry(await readdir(folder), 'meta-data')
  if (name === undefined) return undefined
  return (await readHead(join(folder, name), 64 * 1024)).toString('utf8')
}

/** A reason then reads `/dev/vdb:user-data:3:1`, and not a folder that is gone. */
function named(content: Extract<SourceContent, { kind: 'data' }>, disk: SeedDisk): SourceContent {
  return { ...content, file: `${disk.device}:${basename(content.file)}` }
}

async function volumeAt(device: string): Promise<Volume | undefined> {
  try {
    return volumeOf(await readHead(device, VOLUME_HEAD))
  } catch {
    // No medium in the drive, or a device that is just going away.
    return undefined
  }
}

async function readHead(path: string, limit: number): Promise<Buffer> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  try {
    const buffer = Buffer.alloc(limit)
    let length = 0
    for (;;) {
      const { bytesRead } = await handle.read(buffer, length, limit - length, length)
      length += bytesRead
      if (bytesRead === 0 || length === limit) return buffer.subarray(0, length)
    }
  } finally {
    await handle.close()
  }
}
