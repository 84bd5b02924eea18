import {
  closeSync,
  existsSync,
  fchmodSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'

/**
 * The few steps that durable writing is made of, so that a test can end the world after each of them.
 *
 * All are synchronous: state files are small, and a step that cannot be interleaved is a step that cannot be raced.
 */
export type FileSystem = {
  /** Returns the whole file, or undefined when there is none. */
  read(path: string): Buffer | undefined
  /** Creates or truncates the file and writes all of it. */
  write(path: string, data: string | Buffer, mode: number): void
  /** Adds to the end of the file, which is made when absent, and makes it durable. */
  append(path: string, data: string, mode: number): void
  sync(path: string): void
  syncDirectory(path: string): void
  rename(from: string, to: string): void
  remove(path: string): void
  makeDirectory(path: string, mode: number): void
}

export const diskFileSystem: FileSystem = {
  read: (path) => {
    try {
      return readFileSync(path)
    } catch (error) {
      if (isAbsent(error)) return undefined
      throw error
    }
  },
  write: (path, data, mode) =>
    withFile(path, 'w', mode, (file) => {
      // The mode that is asked for, whatever the umask of the process.
      fchmodSync(file, mode)
      writeAll(file, data)
    }),
  append: (path, data, mode) =>
    withFile(path, 'a', mode, (file) => {
      writeAll(file, data)
      fsyncSync(file)
    }),
  sync: (path) => withFile(path, 'r+', 0o600, (file) => fsyncSync(file)),
  syncDirectory: (path) => withFile(dirname(path), 'r', 0o600, (file) => fsyncSync(file)),
  rename: (from, to) => renameSync(from, to),
  remove: (path) => rmSync(path, { force: true }),
  makeDirectory: (path, mode) => {
    if (!existsSync(path)) mkdirSync(path, { recursive: true, mode })
  },
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

function withFile(path: string, flags: string, mode: number, act: (descriptor: number) => void): void {
  const descriptor = openSync(path, flags, mode)
  try {
    act(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

function writeAll(descriptor: number, data: string | Buffer): void {
  const bytes = typeof data === 'string' ? Buffer.from(data) : data
  for (let done = 0; done < bytes.length;) done += writeSync(descriptor, bytes, done)
}
