/** Programs that make and boot machines: those of a tools tree when there is one, else the host's own. */
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { enterTree } from '#kit/tools-tree'
import { CliFault } from '../fault.ts'

/** How to call a program, and where a file that comes with the programs is on the host. */
export type Tools = {
  /** What goes before a program's name; `binds` are the folders that the program sees. */
  readonly command: (binds: readonly string[]) => readonly string[]
  readonly file: (path: string) => string
}

const HOST_TOOLS: Tools = { command: () => [], file: (path) => path }
const FOLDERS = ['/usr/sbin', '/usr/bin', '/sbin', '/bin']
const TIMEOUT_MS = 60_000
/** What machines need beside QEMU itself, and the package of Debian that has it. */
const NEEDED: readonly (readonly [paths: readonly string[], name: string])[] = [
  [inFolders('qemu-system-x86_64'), 'qemu-system-x86_64'],
  [inFolders('mkfs.vfat'), 'mkfs.vfat'],
  [inFolders('mcopy'), 'mcopy'],
  [['/usr/share/OVMF/OVMF_CODE_4M.fd'], 'OVMF'],
]
const PACKAGES = 'qemu-system-x86 ovmf dosfstools mtools'
const run = promisify(execFile)

/** Names of the programs that machines need and that are not there. */
export function missingPrograms(isThere: (path: string) => boolean = existsSync): readonly string[] {
  return NEEDED.filter(([paths]) => !paths.some(isThere)).map(([, name]) => name)
}

/**
 * Returns the host's own programs when they are all there, else the newest tools tree below `cache`. Throws CliFault `programs_missing`, with the
 * packages to install, when there is neither.
 */
export function requireTools(cache: string, isThere: (path: string) => boolean = existsSync): Tools {
  const missing = missingPrograms(isThere)
  if (missing.length === 0) return HOST_TOOLS
  const tree = findTools(cache)
  if (tree !== HOST_TOOLS) return tree
  throw new CliFault('programs_missing', `programs to run machines are missing: ${missing.join(', ')}`, {
    hint: `apt-get install ${PACKAGES}; or build an image with the default cache: its tools tree below ${cache} has them`,
  })
}

/** The same tools for a program that outlives the one that started it. */
export function outliving(tools: Tools): Tools {
  return { ...tools, command: (binds) => tools.command(binds).filter((word) => word !== '--die-with-parent') }
}

/** Returns the newest tools tree below `cache`, where image builds keep theirs, that holds `program`; the host's own programs when there is none. */
export function findTools(cache: string | undefined, program = 'usr/bin/qemu-system-x86_64'): Tools {
  const trees =
    cache !== undefined && existsSync(cache)
      ? readdirSync(cache).map((name) => join(cache, name, 'tree'))
      : []
  const newest = trees
    .filter((tree) => existsSync(join(tree, program)))
    .sort((a, b) => statSync(join(b, '..')).mtimeMs - statSync(join(a, '..')).mtimeMs)[0]
  if (newest === undefined) return HOST_TOOLS
  return { command: (binds) => enterTree(newest, [...binds, '/dev/shm']), file: (path) => join(newest, path) }
}

/** Runs a program and returns what it printed. Throws what execFile throws, with stderr. */
export async function runTool(
  tools: Tools,
  command: readonly string[],
  options: { readonly binds: readonly string[]; readonly timeoutMs?: number },
): Promise<string> {
  const [program = '', ...args] = [...tools.command(options.binds), ...command]
  const env = { PATH: FOLDERS.join(':'), LANG: 'C.UTF-8', HOME: '/tmp' }
  const { stdout } = await run(program, args, {
    env,
    timeout: options.timeoutMs ?? TIMEOUT_MS,
    maxBuffer: 1 << 26,
  })
  return stdout
}

function inFolders(program: string): readonly string[] {
  return FOLDERS.map((folder) => join(folder, program))
}
