/**
 * The only place where core starts a program of the host.
 *
 * Invariants: programs are found in fixed folders, never through PATH; no shell, no inherited environment; each has a deadline or a reader that
 * may leave, and is killed and waited for at its end; what it prints is bounded or read at the reader's pace.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { LinuxFault } from './fault.ts'

export type ProgramName = 'systemctl' | 'journalctl' | 'mount' | 'umount' | 'dmsetup' | 'systemd-analyze'

export type Programs = {
  /** Where the program is, or undefined when the host has none. */
  find(name: ProgramName): string | undefined
  /** Returns what the program printed. Throws LinuxFault `program_missing`, `program_failed` or `program_timeout`. */
  run(
    name: ProgramName,
    args: readonly string[],
    options: { readonly deadlineMs: number; readonly signal: AbortSignal },
  ): Promise<string>
  /** Yields what the program prints as it is read; the program is killed when the reader leaves. Throws like `run`. */
  stream(
    name: ProgramName,
    args: readonly string[],
    options: { readonly signal: AbortSignal },
  ): AsyncGenerator<Buffer>
}

const FOLDERS: readonly string[] = ['/usr/bin', '/usr/sbin', '/bin', '/sbin']
const ENVIRONMENT = {
  LC_ALL: 'C.UTF-8',
  PATH: FOLDERS.slice(0, 2).join(':'),
  SYSTEMD_COLORS: '0',
  SYSTEMD_PAGER: '',
}
const MAX_PRINTED = 256 * 1024
const MAX_COMPLAINT = 2048

/** Returns the programs of this host. */
export function hostPrograms(folders: readonly string[] = FOLDERS): Programs {
  const find = (name: ProgramName) => folders.map((folder) => join(folder, name)).find(existsSync)
  const require = (name: ProgramName) => {
    const path = find(name)
    if (path === undefined) throw new LinuxFault('program_missing', `the host has no ${name}`)
    return path
  }
  return {
    find,
    run: async (name, args, options) => runToEnd(name, require(name), args, options),
    stream: (name, args, { signal }) => readWhile(name, () => require(name), args, signal),
  }
}

async function runToEnd(
  name: ProgramName,
  path: string,
  args: readonly string[],
  options: { readonly deadlineMs: number; readonly signal: AbortSignal },
): Promise<string> {
  const { deadlineMs, signal } = options
  signal.throwIfAborted()
  return new Promise<string>((resolve, reject) => {
    const settings = {
      timeout: deadlineMs,
      killSignal: 'SIGKILL' as const,
      maxBuffer: MAX_PRINTED,
      env: ENVIRONMENT,
      cwd: '/',
      signal,
    }
    execFile(path, [...args], settings, (error, stdout, stderr) => {
      if (error === null) resolve(stdout)
      // The reason is whatever the caller gave: an Error everywhere in this project.
      else if (signal.aborted) reject(signal.reason as Error)
      else if (error.killed === true) reject(timeout(name))
      else reject(failed(name, error.code ?? error.signal, stderr))
    })
  })
}

async function* readWhile(
  name: ProgramName,
  path: () => string,
  args: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  signal.throwIfAborted()
  const child = spawn(path(), [...args], { stdio: ['ignore', 'pipe', 'pipe'], env: ENVIRONMENT, cwd: '/' })
  const ended = endOf(child)
  let complaint = ''
  child.stderr.on('data', (piece: Buffer) => {
    complaint = (complaint + piece.toString()).slice(-MAX_COMPLAINT)
  })
  const kill = () => child.kill('SIGKILL')
  signal.addEventListener('abort', kill, { once: true })
  try {
    // A pipe without an encoding yields buffers; its declared element type is looser.
    for await (const piece of child.stdout as AsyncIterable<Buffer>) yield piece
    const code = await ended
    signal.throwIfAborted()
    if (code !== 0) throw failed(name, code, complaint)
  } finally {
    signal.removeEventListener('abort', kill)
    kill()
    await ended
  }
}

async function endOf(child: ChildProcess): Promise<number | string | null> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.name))
    child.once('exit', (code, signal) => resolve(code ?? signal))
  })
}

function failed(name: ProgramName, how: unknown, complaint: string): LinuxFault {
  const cause = new Error(`${String(how)}: ${complaint.slice(0, MAX_COMPLAINT).trim()}`)
  return new LinuxFault('program_failed', `${name} ended with an error`, { cause })
}

function timeout(name: ProgramName): LinuxFault {
  return new LinuxFault('program_timeout', `${name} did not end in time`)
}
