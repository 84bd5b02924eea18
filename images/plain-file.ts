/** Documents and keys from outside: plain files, of a size that a person would write. */
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { codeOf } from '#kit/fault'

/** Longest file that is read whole; a longer one is refused before it is. */
const MAX_BYTES = 1024 * 1024

/**
 * Bytes of a plain file of at most 1 MiB. Throws an Error whose message says what is wrong, for a sentence that names the file. Opened without
 * blocking: a pipe that nobody writes to would hold the build for ever, deaf to signals.
 */
export function readPlainFile(path: string): Buffer {
  const file = open(path)
  try {
    const stats = fstatSync(file)
    if (!stats.isFile()) throw new Error('it is no plain file')
    if (stats.size > MAX_BYTES) throw new Error(`it is larger than ${MAX_BYTES / 1024} KiB`)
    return readFileSync(file)
  } finally {
    closeSync(file)
  }
}

function open(path: string): number {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (cause) {
    throw new Error(`it cannot be opened: ${codeOf(cause) ?? 'unknown reason'}`, { cause })
  }
}
