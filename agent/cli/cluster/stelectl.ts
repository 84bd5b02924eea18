import { spawn } from 'node:child_process'

export type CommandResult = { readonly exitCode: number; readonly stdout: string; readonly stderr: string }

export type StelectlOptions = {
  /** The file of stelectl: its source or its bundle. */
  readonly program: string
  /** The file of contexts. */
  readonly config: string
  readonly signal: AbortSignal
}

/** Runs the real command line as a process of its own, as the person at the terminal would, and returns what it printed. */
export function runStelectl(args: readonly string[], options: StelectlOptions): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [options.program, '--config', options.config, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      signal: options.signal,
    })
    const stdout: Buffer[] = []
    const stderr: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk))
    child.once('error', reject)
    child.once('close', (code) =>
      resolve({ exitCode: code ?? 1, stdout: text(stdout), stderr: text(stderr) }),
    )
  })
}

/** Shows a live status until the signal aborts; the terminal is the command's own. */
export function watchStatus(context: string, options: StelectlOptions): Promise<void> {
  return new Promise((resolve) => {
    const child = spawn(
      process.execPath,
      [options.program, '--config', options.config, '--context', context, 'status', '--watch'],
      {
        stdio: ['ignore', 'inherit', 'inherit'],
        signal: options.signal,
      },
    )
    child.once('error', () => resolve())
    child.once('close', () => resolve())
  })
}

function text(chunks: readonly Buffer[]): string {
  return Buffer.concat(chunks).toString('utf8').trimEnd()
}
