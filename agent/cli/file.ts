/** Local files: capped on the way in, atomic and private on the way out. */
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { mkdir, open, realpath, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { CliFault } from './fault.ts'

/** Longest document that a node would take; a longer file is refused before it is read whole. */
export const MAX_DOCUMENT_BYTES = 1024 * 1024

export type Input = { readonly bytes: Buffer; readonly label: string }

/** Bytes of a file, or of stdin for `-`. Throws CliFault `file_unreadable` or `file_too_large`. */
export async function readInput(path: string, maxBytes = MAX_DOCUMENT_BYTES): Promise<Input> {
  if (path === '-') return { bytes: await readCapped(process.stdin, '<stdin>', maxBytes), label: '<stdin>' }
  const handle = await open(path, constants.O_RDONLY).catch((cause: unknown) => {
    throw new CliFault('file_unreadable', `${path} cannot be opened`, {
      hint: 'name a file that exists and that you may read, or - for stdin',
      cause,
    })
  })
  try {
    return {
      bytes: await readCapped(handle.createReadStream({ autoClose: false }), path, maxBytes),
      label: path,
    }
  } finally {
    await handle.close()
  }
}

/**
 * Replaces a file as a whole (temporary file, flush, rename), readable by its owner alone. A link is followed, not replaced. With `exclusive` an
 * existing file is refused: CliFault `file_exists`.
 */
export async function writePrivate(
  path: string,
  text: string,
  options: { readonly exclusive?: boolean } = {},
): Promise<void> {
  if (options.exclusive === true) return writeNew(path, text)
  const target = await realpath(path).catch(() => path)
  await mkdir(dirname(target), { recursive: true, mode: 0o700 })
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
  await mkdir(dirname(path), { recursive: true })
  try {
    await writeAndFlush(path, text)
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'EEXIST')) throw cause
    throw new CliFault('file_exists', `${path} exists already`, {
      hint: 'name another file, or say --force to replace it',
      cause,
    })
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

async function readCapped(
  stream: AsyncIterable<Buffer | string>,
  label: string,
  maxBytes: number,
): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of stream) {
      const bytes = Buffer.from(chunk)
      length += bytes.length
      if (length > maxBytes) throw tooLarge(label, maxBytes)
      chunks.push(bytes)
    }
  } catch (cause) {
    if (cause instanceof CliFault) throw cause
    throw new CliFault('file_unreadable', `${label} cannot be read`, { cause })
  }
  return Buffer.concat(chunks)
}

function tooLarge(label: string, maxBytes: number): CliFault {
  return new CliFault('file_too_large', `${label} is larger than ${maxBytes / 1024} KiB`)
}
