/**
 * What core lets gateway and trust reach, and nothing more: one folder each to read their identity from, and one socket each to connect to.
 *
 * Invariants: all of it belongs to root; only the group differs, and only that group may read or connect; nobody but core writes.
 */
import { chmodSync, chownSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { FileSystem } from '../store/file-system.ts'

export type SharedPath = { readonly path: string; readonly gid: number }

const ROOT = 0

/** Makes the folder of each path, readable by its group alone. */
export function makeSharedFolders(paths: readonly SharedPath[]): void {
  for (const { path, gid } of paths) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o711 })
    chownSync(dirname(path), ROOT, gid)
    chmodSync(dirname(path), 0o750)
  }
}

/** Gives a bound socket to a group: until then nobody but root may connect. */
export function shareSocket({ path, gid }: SharedPath): void {
  chownSync(path, ROOT, gid)
  chmodSync(path, 0o660)
}

/** Returns `files`, but that what is written into the folder of one of `paths` may be read by its group. */
export function sharingFiles(files: FileSystem, paths: readonly SharedPath[]): FileSystem {
  return {
    ...files,
    write: (path, data, mode) => {
      const shared = paths.find((one) => dirname(one.path) === dirname(path))
      files.write(path, data, mode)
      if (shared === undefined) return
      // The group first: a moment of another group's readable file would be a leak, one of nobody's is not.
      chownSync(path, ROOT, shared.gid)
      chmodSync(path, 0o640)
    },
  }
}
