/**
 * The only place that runs external programs: on the host, or inside the tools tree (a chroot of Debian trixie, entered by bubblewrap, in
 * which every path below the cache and the repository is the same as outside).
 *
 * Invariants: a program gets an environment of our making and no standard input; its output is capped; a failure names the command and its last
 * lines; an aborted signal ends the program.
 */
import { spawn } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { enterTree } from '#kit/tools-tree'
import { ImageFault } from './fault.ts'

export type RunOptions = {
  readonly signal: AbortSignal
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** What the program may read beside the cache, at the same path; the tools tree only. */
  readonly readable?: readonly string[]
}

/** Runs a program and returns what it printed on stdout. Throws ImageFault `tool_failed`. */
export type Run = (program: string, args: readonly string[], options: RunOptions) => Promise<string>

/** Most that is kept of a program's output; a tree listing of a whole root is below it. */
const OUTPUT_LIMIT = 16 * 1024 * 1024
const LAST_LINES = 20
/** Milliseconds between asking a program to end and ending it. */
const STOP_MS = 5000

/** What the host must have; the rest lives in the tools tree. */
const HOST_PROGRAMS: readonly { readonly program: string; readonly package: string }[] = [
  { program: 'mmdebstrap', package: 'mmdebstrap' },
  { program: 'bwrap', package: 'bubblewrap' },
  { program: 'apt-get', package: 'apt' },
]
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'

/** Environment that goes through to programs that download: the host's proxy, nothing else. */
const PASSED_ON = [
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'GOPROXY',
  'GONOSUMDB',
]

/** Packages of the host that are missing, by name; empty when the host can build. Throws `host_unfit` when it never can. */
export function missingHostPackages(host: { platform: string; uid: number | undefined }): readonly string[] {
  if (host.platform !== 'linux') {
    throw new ImageFault('host_unfit', 'images are built on Linux only', {
      hint: 'run the build in a Debian machine or container',
    })
  }
  if (host.uid !== 0) {
    throw new ImageFault('host_unfit', 'images are built by root: files of the image belong to root', {
      hint: 'run the same command as root',
    })
  }
  const missing = HOST_PROGRAMS.filter((each) => !isOnPath(each.program)).map((each) => each.package)
  return existsSync(KEYRING) ? missing : [...missing, 'debian-archive-keyring']
}

/** Throws `host_unfit` with the apt-get line, unless nothing is missing. */
export function requireHostPackages(missing: readonly string[]): void {
  if (missing.length === 0) return
  throw new ImageFault('host_unfit', `the host lacks ${missing.join(', ')}`, {
    hint: `apt-get install -y --no-install-recommends ${missing.join(' ')}   (or pass --install-tools)`,
  })
}

/** A Run for programs of the host. */
export function hostRun(base: Readonly<Record<string, string>>): Run {
  return async (program, args, options) =>
    execute([program, ...args], { ...options, env: environment(base, options.env) })
}

/** A Run for programs of the tools tree at `tree`; `writable` are the directories it may see and write. */
export function treeRun(
  tree: string,
  writable: readonly string[],
  base: Readonly<Record<string, string>>,
): Run {
  return async (program, args, options) =>
    execute([...enterTree(tree, writable, options.readable), program, ...args], {
      ...options,
      env: environment(base, options.env),
    })
}

function environment(
  base: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>> | undefined,
): Record<string, string> {
  const passed = PASSED_ON.flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: '/tmp',
    LANG: 'C.UTF-8',
    TZ: 'UTC',
    ...Object.fromEntries(passed),
    ...base,
    ...own,
  }
}

function isOnPath(program: string): boolean {
  const folders = ['/usr/sbin', '/usr/bin', '/sbin', '/bin', ...(process.env['PATH'] ?? '').split(delimiter)]
  return folders.some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

function execute(command: readonly string[], options: RunOptions): Promise<string> {
  const [program = '', ...args] = command
  options.signal.throwIfAborted()
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...options.env },
      detached: true,
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    })
    const output = { stdout: '', both: '' }
    const keep = (text: string) => {
      output.both = (output.both + text).slice(-64 * 1024)
    }
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      keep(text)
      if (output.stdout.length < OUTPUT_LIMIT) output.stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', keep)
    let last: NodeJS.Timeout | undefined
    const onAbort = () => {
      killGroup(child.pid, 'SIGTERM')
      last = setTimeout(() => killGroup(child.pid, 'SIGKILL'), STOP_MS)
    }
    options.signal.addEventListener('abort', onAbort, { once: true })
    const settle = (failure: string | undefined, cause?: unknown) => {
      options.signal.removeEventListener('abort', onAbort)
      clearTimeout(last)
      if (options.signal.aborted) reject(asError(options.signal.reason))
      else if (failure === undefined) resolve(output.stdout)
      else reject(failed(command, failure, { output: output.both, cause }))
    }
    child.once('error', (cause) => settle('could not be started', cause))
    child.once('close', (code, signal) =>
      settle(code === 0 ? undefined : signal === null ? `exited ${code}` : `was ended by ${signal}`),
    )
  })
}

/** A program may have started others; they are in its group and end with it. */
function killGroup(pid: number | undefined, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // The group is gone already.
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason))
}

function failed(
  command: readonly string[],
  what: string,
  detail: { readonly output: string; readonly cause: unknown },
): ImageFault {
  const inner = command.indexOf('--cap-add')
  const shown = inner < 0 ? command : command.slice(inner + 2)
  const last = detail.output.trimEnd().split('\n').slice(-LAST_LINES).join('\n')
  return new ImageFault('tool_failed', `${shown.join(' ')}: ${what}`, {
    ...(last === '' ? {} : { hint: last }),
    ...(detail.cause === undefined ? {} : { cause: detail.cause }),
  })
}
