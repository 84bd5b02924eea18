/** Daemons as processes: started from source, with the IPC channel of a supervisor; their lines are kept. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

export type Daemon = {
  readonly process: ChildProcess
  /** What it has written so far, stdout and stderr. */
  output(): string
  /** Log lines as objects; what is no JSON is left out. */
  lines(): readonly Readonly<Record<string, unknown>>[]
  /** Resolves when it has said that it is ready. */
  readonly ready: Promise<void>
  /** Sends the signal and resolves with the exit code, or null when a signal ended it. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

/** Starts `agent/<name>/main.ts`. */
export function startDaemon(
  name: string,
  arguments_: readonly string[],
  options: { readonly execArgv?: readonly string[] } = {},
): Daemon {
  const child = fork(join(root, 'agent', name, 'main.ts'), [...arguments_], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    execArgv: ['--disable-warning=ExperimentalWarning', ...(options.execArgv ?? [])],
  })
  let text = ''
  const keep = (chunk: Buffer) => {
    text += chunk.toString('utf8')
  }
  child.stdout?.on('data', keep)
  child.stderr?.on('data', keep)
  const exited = once(child, 'exit').then(([code]) => code as number | null)
  const ready = Promise.race([
    once(child, 'message').then(() => undefined),
    exited.then((code) => {
      throw new Error(`${name} ended with ${code}: ${text}`)
    }),
  ])
  ready.catch(() => undefined)
  return {
    process: child,
    output: () => text,
    lines: () => text.split('\n').flatMap(parse),
    ready,
    stop: async (signal = 'SIGTERM') => {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal)
      return exited
    },
  }
}

/** Resident memory in MiB, from the kernel. */
export async function residentMib(pid: number): Promise<number> {
  const { readFile } = await import('node:fs/promises')
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? Number.NaN) / 1024
}

function parse(line: string): Readonly<Record<string, unknown>>[] {
  try {
    return line.startsWith('{') ? [JSON.parse(line) as Readonly<Record<string, unknown>>] : []
  } catch {
    return []
  }
}
