import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'

/** Flags that the daemons run with on a node: they are nearly idle, so a small heap is worth more than throughput. */
export const MEMORY_FLAGS = [
  '--max-semi-space-size=4',
  '--max-old-space-size=96',
  '--disable-proto=delete',
] as const

/** Starts a daemon as its supervisor would; resolves when it says that it is ready, with the milliseconds that took. */
export async function startDaemon(
  program: string,
  args: readonly string[],
): Promise<{ child: ChildProcess; readyMs: number }> {
  const started = performance.now()
  const child = spawn(process.execPath, [...MEMORY_FLAGS, program, ...args], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const ended = once(child, 'exit').then(() =>
    Promise.reject(new Error(`${program} ended before it was ready`)),
  )
  const ready = new Promise<void>((resolve) => child.on('message', () => resolve()))
  await Promise.race([ready, ended])
  ended.catch(() => undefined)
  return { child, readyMs: performance.now() - started }
}

export async function stopDaemon(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

/** Resident megabytes of a process, from /proc. */
export function residentMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? Number.NaN) / 1024
}
