/** The programs on one file system, found by walking it. */
import type { Stats } from 'node:fs'
import { lstat, open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isInterpreter, isLibrary, isPackageManager } from '#kit/program-name'
import type { ProgramInventory } from '../../ports.ts'
import { LinuxFault } from '../fault.ts'

/** Forty times what the image holds. */
const MAX_ENTRIES = 100_000

type Found = { [Part in keyof ProgramInventory]: string[] }

/**
 * The programs below `root`, without crossing into another file system or following a link. `runtime` is the path of the interpreter that may be
 * there. Throws LinuxFault `host_unreadable` when there is more than anyone would call an image, what the system does, or the signal's reason.
 */
export async function programsOn(
  root: string,
  options: { readonly runtime: string; readonly signal: AbortSignal; readonly maxEntries?: number },
): Promise<ProgramInventory> {
  const { runtime, signal, maxEntries = MAX_ENTRIES } = options
  const found: Found = { executables: [], scripts: [], interpreters: [], packageManagers: [], setuid: [] }
  const { dev } = await lstat(join(root, '/'))
  const pending = ['']
  let seen = 0
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    for (const name of await readdir(join(root, folder))) {
      signal.throwIfAborted()
      if (++seen > maxEntries)
        throw new LinuxFault('host_unreadable', `the root holds more than ${maxEntries} files`)
      const path = folder === '' ? name : `${folder}/${name}`
      const stats = await lstat(join(root, path))
      if (stats.dev !== dev) continue
      if (stats.isDirectory()) pending.push(path)
      else await judge(found, { root, path, stats })
    }
  }
  return {
    ...sorted(found),
    interpreters: found.interpreters.filter((path) => `/${path}` !== runtime).sort(),
  }
}

type Entry = { readonly root: string; readonly path: string; readonly stats: Stats }

async function judge(found: Found, { root, path, stats }: Entry): Promise<void> {
  if (isProgram(path, stats)) {
    if (isInterpreter(path)) found.interpreters.push(path)
    if (isPackageManager(path)) found.packageManagers.push(path)
  }
  if (!stats.isFile()) return
  if ((stats.mode & 0o6000) !== 0) found.setuid.push(path)
  if ((stats.mode & 0o111) === 0 || isLibrary(path)) return
  const start = await firstBytes(join(root, path))
  if (start.startsWith('#!')) found.scripts.push(path)
  else if (start === '\u007fELF') found.executables.push(path)
}

/** A link counts by its name where programs are looked for, and a file wherever it may be run. */
function isProgram(path: string, stats: Stats): boolean {
  return stats.isFile() ? (stats.mode & 0o111) !== 0 : /(^|\/)s?bin\/[^/]+$/.test(path)
}

async function firstBytes(file: string): Promise<string> {
  const handle = await open(file, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(4), 0, 4, 0)
    return buffer.subarray(0, bytesRead).toString('latin1')
  } finally {
    await handle.close()
  }
}

function sorted(found: Found): Found {
  return {
    executables: found.executables.sort(),
    scripts: found.scripts.sort(),
    interpreters: found.interpreters.sort(),
    packageManagers: found.packageManagers.sort(),
    setuid: found.setuid.sort(),
  }
}
