/**
 * The services of one node and its boots. Stands where systemd stands on a real node.
 *
 * Invariants: the boot id changes exactly when all services were stopped and started again; while a reboot or shutdown is under way no
 * other command changes anything.
 */
import { randomUUID } from 'node:crypto'
import type { Clock } from '#kit/clock'
import type { Log } from '#kit/log'
import type { Child } from './child.ts'
import { InitFault } from './fault.ts'
import type { LogFile } from './log-file.ts'
import type { InitRequest, InitResponse, ServiceName } from './protocol.ts'

/** Core last, so that gateway and trust can finish the calls they hold. */
const STOP_ORDER: readonly ServiceName[] = ['trust', 'gateway', 'core']
const START_AT_BOOT: readonly ServiceName[] = ['core', 'gateway']

export type SupervisorOptions = {
  readonly children: Readonly<Record<ServiceName, Child>>
  readonly logs: readonly LogFile[]
  readonly log: Log
  readonly clock: Clock
  /** Called once when a shutdown is complete. */
  readonly onPowerOff: () => void
}

export class Supervisor {
  readonly #options: SupervisorOptions
  #bootId = ''
  #bootedAt: Date
  #transition: Promise<void> | undefined

  constructor(options: SupervisorOptions) {
    this.#options = options
    this.#bootedAt = options.clock.now()
  }

  boot(): void {
    const { children, logs, log, clock } = this.#options
    for (const file of logs) file.startBoot()
    this.#bootId = randomUUID()
    this.#bootedAt = clock.now()
    log.info('boot', { bootId: this.#bootId })
    for (const child of Object.values(children)) child.startBoot()
    for (const name of START_AT_BOOT) children[name].start()
  }

  /** Returns the answer to one request; a reboot or shutdown is answered when it begins. */
  async handle(request: InitRequest): Promise<InitResponse> {
    const { children } = this.#options
    if (request.command === 'list') return { ok: true, services: this.#snapshot() }
    if (request.command === 'status') {
      return { ok: true, boot: { bootId: this.#bootId, bootedAt: this.#bootedAt.toISOString() } }
    }
    if (this.#transition !== undefined) throw new InitFault('busy', 'a reboot or shutdown is under way')
    switch (request.command) {
      case 'start':
        children[request.name].start()
        return { ok: true, services: this.#snapshot() }
      case 'stop':
        await children[request.name].stop({ forced: false })
        return { ok: true, services: this.#snapshot() }
      case 'restart':
        this.#restartInBackground(request.name)
        return { ok: true, services: this.#snapshot() }
      case 'reboot':
        this.#begin('reboot', async () => {
          await this.#stopAll(request.forced)
          this.#transition = undefined
          this.boot()
        })
        return { ok: true }
      case 'shutdown':
        this.#begin('shutdown', () => this.powerOff(request.forced))
        return { ok: true }
    }
  }

  /** Stops everything and reports the end of this node. */
  async powerOff(forced: boolean): Promise<void> {
    await this.#stopAll(forced)
    this.#options.onPowerOff()
  }

  #restartInBackground(name: ServiceName): void {
    // Answered at once: the caller may be a client of the very process that restarts.
    const child = this.#options.children[name]
    const restart = async () => {
      await child.stop({ forced: false })
      if (this.#transition === undefined) child.start()
    }
    restart().catch((error: unknown) => {
      this.#options.log.error('service restart failed', { service: name, error })
    })
  }

  #begin(what: string, act: () => Promise<void>): void {
    this.#options.log.info('power transition', { what, bootId: this.#bootId })
    this.#transition = act().catch((error: unknown) => {
      this.#transition = undefined
      this.#options.log.error('power transition failed', { what, error })
    })
  }

  async #stopAll(forced: boolean): Promise<void> {
    for (const name of STOP_ORDER) await this.#options.children[name].stop({ forced })
  }

  #snapshot() {
    return Object.values(this.#options.children)
      .map((child) => child.snapshot())
      .sort((a, b) => (a.name < b.name ? -1 : 1))
  }
}
