import type { FileSystem } from './file-system.ts'

/**
 * Replaces the file at `path` so that a crash at any moment leaves the old content or the new one: temporary file, fsync, rename, fsync of
 * the directory. The temporary name is fixed, so that a stray one of an earlier crash is overwritten and never piles up.
 */
export function writeAtomic(files: FileSystem, path: string, data: string | Buffer, mode = 0o600): void {
  const temporary = `${path}.new`
  // A stray temporary file may have another mode; the mode of an existing file is not changed by opening it.
  files.remove(temporary)
  files.write(temporary, data, mode)
  files.sync(temporary)
  files.rename(temporary, path)
  files.syncDirectory(path)
}
