/**
 * One supervised process: started, restarted for ever with back-off, stopped in order and then by force.
 *
 * Invariants: at most one process exists at a time; after `stop()` resolves there is none; a process that ends without being asked is
 * started again after at least `restart.firstDelayMs / 2`.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Clock } from '#kit/clock'
import type { Log } from '#kit/log'
import { backoff, type RetryPolicy } from '#kit/retry'
import type { LogFile } from './log-file.ts'
import type { InitService, ServiceName } from './protocol.ts'

export type ChildOptions = {
  readonly name: ServiceName
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly output: LogFile
  readonly log: Log
  readonly clock: Clock
  readonly restart?: RetryPolicy
}

const RESTART: RetryPolicy = { firstDelayMs: 200, maxDelayMs: 10_000, attempts: Number.POSITIVE_INFINITY }
/** A process that ran this long was healthy: its next end counts as a first one. */
const HEALTHY_AFTER_MS = 10_000
const STOP_DEADLINE_MS = 5_000

type Life =
  | { readonly kind: 'stopped' }
  | { readonly kind: 'starting' | 'running'; readonly process: ChildProcess; readonly startedAt: number }
  | { readonly kind: 'restarting'; readonly cancel: AbortController }

export class Child {
  readonly #options: ChildOptions
  #life: Life = { kind: 'stopped' }
  #since: Date
  #wanted = false
  #attempt = 0
  #restarts = 0
  #lastExit = ''

  constructor(options: ChildOptions) {
    this.#options = options
    this.#since = options.clock.now()
  }

  start(): void {
    if (this.#wanted) return
    this.#wanted = true
    this.#attempt = 0
    this.#launch()
  }

  /** Resolves when no process is left. Asks with SIGTERM unless `forced`, and ends it with SIGKILL after five seconds. */
  async stop(options: { readonly forced: boolean }): Promise<void> {
    this.#wanted = false
    const life = this.#life
    if (life.kind === 'restarting') {
      life.cancel.abort()
      this.#enter({ kind: 'stopped' })
    }
    if (life.kind !== 'starting' && life.kind !== 'running') return
    const { process } = life
    const ended =
      process.exitCode === null && process.signalCode === null
        ? once(process, 'exit').catch(() => undefined)
        : undefined
    process.kill(options.forced ? 'SIGKILL' : 'SIGTERM')
    const deadline = new AbortController()
    const forceLater = this.#options.clock.sleep(STOP_DEADLINE_MS, deadline.signal).then(
      () => process.kill('SIGKILL'),
      () => false,
    )
    await ended
    deadline.abort()
    await forceLater
  }

  /** Forgets the counters of the boot that ended. */
  startBoot(): void {
    this.#restarts = 0
    this.#lastExit = ''
  }

  snapshot(): InitService {
    const life = this.#life
    return {
      name: this.#options.name,
      state: life.kind,
      pid: 'process' in life ? (life.process.pid ?? 0) : 0,
      since: this.#since.toISOString(),
      restarts: this.#restarts,
      lastExit: this.#lastExit,
    }
  }

  #launch(): void {
    const { name, command, env, output, log, clock } = this.#options
    const [program = process.execPath, ...args] = command
    // Its own session: a Ctrl-C at the terminal reaches init alone, which then stops its children in order.
    const child = spawn(program === 'node' ? process.execPath : program, args, {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      detached: true,
      env,
    })
    const life = { kind: 'starting' as const, process: child, startedAt: clock.monotonic() }
    this.#enter(life)
    log.info('service started', { service: name, pid: child.pid })
    const keep = (bytes: Buffer) => output.append(bytes)
    child.stdout?.on('data', keep)
    child.stderr?.on('data', keep)
    child.on('message', (message: unknown) => {
      if (this.#life !== life || !isReady(message)) return
      this.#enter({ ...life, kind: 'running' })
      log.info('service ready', { service: name, pid: child.pid })
    })
    let over = false
    const end = (exit: string) => {
      if (over) return
      over = true
      this.#ended(exit, clock.monotonic() - life.startedAt)
    }
    child.on('error', (error) => {
      if (child.pid === undefined) end(`not started: ${'code' in error ? String(error.code) : error.name}`)
    })
    child.on('exit', (code, signal) => end(signal === null ? `exit code ${code}` : `signal ${signal}`))
  }

  #ended(exit: string, ranMs: number): void {
    const { name, log } = this.#options
    this.#lastExit = exit
    if (!this.#wanted) {
      this.#enter({ kind: 'stopped' })
      log.info('service stopped', { service: name, exit })
      return
    }
    if (ranMs >= HEALTHY_AFTER_MS) this.#attempt = 0
    const delay = backoff(this.#attempt, this.#options.restart ?? RESTART, Math.random())
    this.#attempt += 1
    this.#restarts += 1
    log.warn('service ended by itself', { service: name, exit, restartInMs: delay })
    const cancel = new AbortController()
    this.#enter({ kind: 'restarting', cancel })
    this.#options.clock.sleep(delay, cancel.signal).then(
      () => this.#launch(),
      () => undefined,
    )
  }

  #enter(life: Life): void {
    this.#life = life
    this.#since = this.#options.clock.now()
  }
}

function isReady(message: unknown): boolean {
  return typeof message === 'object' && message !== null && 'kind' in message && message.kind === 'ready'
}
