/** Local files: capped on the way in, atomic and private on the way out. */
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { open, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { addAbortSignal, type Readable } from 'node:stream'
import { codeOf } from '#kit/fault'
import { makeFolder } from '#kit/folder'
import { CliFault } from './fault.ts'

/** Longest document that a node would take; a longer file is refused before it is read whole. */
export const MAX_DOCUMENT_BYTES = 1024 * 1024

export type Input = { readonly bytes: Buffer; readonly label: string }

export type ReadOptions = {
  readonly maxBytes?: number
  /** Ends the reading of stdin, where nobody knows when the last byte comes. */
  readonly signal?: AbortSignal
}

/** Bytes of a file, or of stdin for `-`. Throws CliFault `file_unreadable` or `file_too_large`, or the signal's reason. */
export async function readInput(path: string, options: ReadOptions = {}): Promise<Input> {
  if (path === '-') return { bytes: await readStream(process.stdin, '<stdin>', options), label: '<stdin>' }
  // Without blocking: the opening of a pipe that nobody writes to would never end, and could not be interrupted.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((cause: unknown) => {
    throw new CliFault('file_unreadable', `${path} cannot be opened`, {
      hint: 'name a file that exists and that you may read, or - for stdin',
      cause,
    })
  })
  try {
    const kind = await handle.stat()
    if (!kind.isFile()) {
      const what = kind.isDirectory() ? 'a folder' : 'no plain file'
      throw new CliFault('file_unreadable', `${path} is ${what}`, { hint: 'name a file, or - for stdin' })
    }
    return {
      bytes: await readStream(handle.createReadStream({ autoClose: false }), path, options),
      label: path,
    }
  } finally {
    await handle.close()
  }
}

/**
 * Replaces a file as a whole (temporary file, flush, rename), readable by its owner alone. A link is followed, not replaced. With `exclusive` an
 * existing file is refused: CliFault `file_exists`. What the system refuses is CliFault `file_unwritable`.
 */
export async function writePrivate(
  path: string,
  text: string,
  options: { readonly exclusive?: boolean } = {},
): Promise<void> {
  try {
    if (options.exclusive === true) await writeNew(path, text)
    else await replace(path, text)
  } catch (cause) {
    throw cause instanceof CliFault ? cause : unwritable(path, cause)
  }
}

/** Refuses, before anything is made, what `writePrivate` with `exclusive` would refuse. Throws CliFault `file_exists`. */
export async function requireNew(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    if (await isThere(path)) throw exists(path)
  }
}

export async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

async function replace(path: string, text: string): Promise<void> {
  const target = await realpath(path).catch(() => path)
  makeFolder(dirname(target), 0o700)
  const temporary = join(dirname(target), `.${basename(target)}.${randomBytes(6).toString('hex')}`)
  try {
    await writeAndFlush(temporary, text)
    await rename(temporary, target)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

async function writeNew(path: string, text: string): Promise<void> {
  makeFolder(dirname(path), 0o700)
  try {
    await writeAndFlush(path, text)
  } catch (cause) {
    if (codeOf(cause) === 'EEXIST') throw exists(path, cause)
    throw cause
  }
}

async function writeAndFlush(path: string, text: string): Promise<void> {
  const handle = await open(path, 'wx', 0o600)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Every byte of a stream. Throws CliFault `file_unreadable`, `file_too_large`, or the signal's reason at once. */
export async function readStream(
  stream: Readable,
  label: string,
  options: ReadOptions = {},
): Promise<Buffer> {
  const { maxBytes = MAX_DOCUMENT_BYTES, signal } = options
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of signal === undefined ? stream : addAbortSignal(signal, stream)) {
      const bytes = Buffer.from(chunk as Buffer | string) // a byte stream gives nothing else
      length += bytes.length
      if (length > maxBytes) throw tooLarge(label, maxBytes)
      chunks.push(bytes)
    }
  } catch (cause) {
    signal?.throwIfAborted()
    if (cause instanceof CliFault) throw cause
    throw new CliFault('file_unreadable', `${label} cannot be read`, { cause })
  }
  return Buffer.concat(chunks)
}

function tooLarge(label: string, maxBytes: number): CliFault {
  return new CliFault('file_too_large', `${label} is larger than ${maxBytes / 1024} KiB`)
}

function exists(path: string, cause?: unknown): CliFault {
  return new CliFault('file_exists', `${path} exists already`, {
    hint: 'name another file, or say --force to replace it',
    cause,
  })
}

/** What the system refused, for who writes by other ways than `writePrivate`. */
export function unwritable(path: string, cause: unknown): CliFault {
  return new CliFault('file_unwritable', `${path} cannot be written: ${codeOf(cause) ?? 'unknown reason'}`, {
    hint: 'name a place where you may make files, on a disk that has room',
    cause,
  })
}
