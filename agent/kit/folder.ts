/** Making of folders. Synchronous: it is done once, before the work that needs them. */
import { mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { codeOf } from './fault.ts'

/**
 * Makes a folder and those above it that are missing, one by one. Not by mkdir's `recursive`: it tries for ever, and deaf to signals, where a folder
 * answers ENOENT to what is made in it, as /proc does. Throws what the system says, EEXIST where something else than a folder is there.
 */
export function makeFolder(path: string, mode = 0o777): void {
  const missing: string[] = []
  for (let at = resolve(path); !isFolder(at) && at !== dirname(at); at = dirname(at)) missing.unshift(at)
  for (const folder of missing) {
    try {
      mkdirSync(folder, { mode })
    } catch (error) {
      if (codeOf(error) !== 'EEXIST' || !isFolder(folder)) throw error
    }
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}
