import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fstatSync,
  fsyncSync,
  lstatSync,
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
  /**
   * Returns the whole file, undefined when there is none, or `damaged` when what is there is no file (a folder, a link, a pipe) or the disk does
   * not give it.
   */
  read(path: string): Buffer | undefined | 'damaged'
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

/** A folder (EISDIR), a link (ELOOP), a socket (ENXIO), a file in place of the folder (ENOTDIR); bad blocks (EIO, and ext4's EUCLEAN, EBADMSG). */
const DAMAGE: readonly string[] = ['EISDIR', 'ELOOP', 'ENXIO', 'ENOTDIR', 'EIO', 'EUCLEAN', 'EBADMSG']

export const diskFileSystem: FileSystem = {
  read: (path) => {
    try {
      return readRegular(path)
    } catch (error) {
      const code = codeOf(error)
      if (code === 'ENOENT') return undefined
      if (DAMAGE.includes(code)) return 'damaged'
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

/**
 * The same for the files of core on STATE, which nobody else writes: what is no file in the place of one, or no folder in the place of one, is
 * damage. It is set aside, under the name with `.damaged`, as soon as core writes there.
 */
export const stateFileSystem: FileSystem = {
  ...diskFileSystem,
  rename: (from, to) => {
    if (isFolder(to)) setAside(to)
    renameSync(from, to)
  },
  remove: (path) => rmSync(path, { force: true, recursive: true }),
  makeDirectory: (path, mode) => {
    const present = lstatSync(path, { throwIfNoEntry: false })
    if (present !== undefined && !present.isDirectory()) setAside(path)
    mkdirSync(path, { recursive: true, mode })
  },
}

/** Links are not followed, and a pipe without a writer does not make core wait. */
function readRegular(path: string): Buffer | 'damaged' {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    return fstatSync(descriptor).isFile() ? readFileSync(descriptor) : 'damaged'
  } finally {
    closeSync(descriptor)
  }
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

function setAside(path: string): void {
  rmSync(`${path}.damaged`, { force: true, recursive: true })
  renameSync(path, `${path}.damaged`)
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
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
