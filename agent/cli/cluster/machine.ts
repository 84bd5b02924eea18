import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { backoff } from '#kit/retry'

const RESTART = { firstDelayMs: 100, maxDelayMs: 5_000, attempts: Number.POSITIVE_INFINITY }
const STOP_DEADLINE_MS = 15_000

export type MachineOptions = {
  /** The node directory, with `node.json` in it. */
  readonly directory: string
  /** Program and first arguments of init. */
  readonly init: readonly string[]
  readonly onRestart: (exit: string) => void
  /** The machine was shut down on purpose, through its API. */
  readonly onPowerOff: () => void
}

/**
 * One local machine: keeps its init process running. Init answers for everything inside the machine; this class only does what power does for
 * hardware. An init that ends with 0 was shut down on purpose and stays off; any other end is a crash, and init starts again after a pause.
 */
export class LocalMachine implements AsyncDisposable {
  readonly #options: MachineOptions
  #child: ChildProcess | undefined
  #timer: NodeJS.Timeout | undefined
  #crashes = 0
  #closing = false

  constructor(options: MachineOptions) {
    this.#options = options
  }

  /** Process id of init; undefined while it is down. */
  get pid(): number | undefined {
    return this.#child?.pid
  }

  start(): void {
    const { directory, init } = this.#options
    const [program = process.execPath, ...args] = init
    const output = openSync(join(directory, 'log', 'init.log'), 'a', 0o600)
    const child = spawn(program, [...args, '--node', join(directory, 'node.json')], {
      stdio: ['ignore', output, output, 'ipc'],
      // Its own process group: a Ctrl-C at the terminal reaches us alone, and we stop the machines in order.
      detached: true,
    })
    closeSync(output)
    this.#child = child
    child.once('error', (error) => this.#ended(error.message))
    child.once('exit', (code, signal) => this.#ended(signal ?? `code ${code}`, code === 0))
  }

  #ended(exit: string, onPurpose = false): void {
    this.#child = undefined
    if (this.#closing) return
    if (onPurpose) return this.#options.onPowerOff()
    this.#options.onRestart(exit)
    this.#timer = setTimeout(() => this.start(), backoff(this.#crashes, RESTART, Math.random()))
    this.#crashes += 1
  }

  /** Stops init in order and waits for its end; kills it when it does not end in time. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing = true
    clearTimeout(this.#timer)
    const child = this.#child
    if (child === undefined) return
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_DEADLINE_MS)
    await ended
    clearTimeout(timer)
  }
}
