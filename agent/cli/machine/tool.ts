/** Programs that make and boot machines: those of a tools tree when there is one, else the host's own. */
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { enterTree } from '#kit/tools-tree'

/** How to call a program, and where a file that comes with the programs is on the host. */
export type Tools = {
  /** What goes before a program's name; `binds` are the folders that the program sees. */
  readonly command: (binds: readonly string[]) => readonly string[]
  readonly file: (path: string) => string
}

const HOST_TOOLS: Tools = { command: () => [], file: (path) => path }
const TIMEOUT_MS = 60_000
const run = promisify(execFile)

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
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8', HOME: '/tmp' }
  const { stdout } = await run(program, args, {
    env,
    timeout: options.timeoutMs ?? TIMEOUT_MS,
    maxBuffer: 1 << 26,
  })
  return stdout
}
