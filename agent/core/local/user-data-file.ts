import { constants } from 'node:fs'
import { open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { CoreFault } from '../fault.ts'
import type { SourceContent, UserDataSource } from '../ports.ts'

/** Most bytes of user data that are read, the same as the decoder takes. */
export const MAX_USER_DATA = 1024 * 1024

/** A file that is the user data, or a directory in NoCloud layout that holds it. */
export function pathSource(path: string): UserDataSource {
  return {
    kind: path.endsWith('/') ? 'nocloud' : 'file',
    location: path,
    read: async ({ signal }) => {
      signal.throwIfAborted()
      const found = await stat(path).catch(() => undefined)
      if (found === undefined) return { kind: 'absent' }
      return found.isDirectory() ? readSeed(path) : readCapped(path)
    },
  }
}

/**
 * Returns the name in a NoCloud seed that stands for `wanted`: the plain one, or how ISO 9660 without long names spells it (upper case,
 * underscores, a trailing dot, a version number). The plain one wins. Pure.
 */
export function seedEntry(names: readonly string[], wanted: string): string | undefined {
  if (names.includes(wanted)) return wanted
  const plain = (name: string) =>
    name.replace(/;\d+$/, '').replace(/\.$/, '').toLowerCase().replaceAll('_', '-')
  return [...names].sort().find((name) => plain(name) === wanted)
}

async function readSeed(directory: string): Promise<SourceContent> {
  const name = seedEntry(await readdir(directory), 'user-data')
  return name === undefined ? { kind: 'absent' } : readCapped(join(directory, name))
}

async function readCapped(path: string): Promise<SourceContent> {
  // Not blocking: a FIFO in the place of the file must not hold the boot.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((cause: unknown) => {
    throw new CoreFault('source_unreachable', 'the file cannot be opened', { cause })
  })
  try {
    if (!(await handle.stat()).isFile())
      throw new CoreFault('source_invalid', 'the path is not a regular file')
    const buffer = Buffer.alloc(MAX_USER_DATA + 1)
    let length = 0
    for (;;) {
      const { bytesRead } = await handle.read(buffer, length, buffer.length - length, null)
      length += bytesRead
      if (bytesRead === 0 || length === buffer.length) break
    }
    if (length > MAX_USER_DATA) throw new CoreFault('source_invalid', 'the user data is larger than 1 MiB')
    return { kind: 'data', bytes: Buffer.from(buffer.subarray(0, length)), file: path }
  } finally {
    await handle.close()
  }
}
