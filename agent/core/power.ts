/**
 * Brings the machine down, after the answer that announced it has left.
 *
 * Invariant: once begun it is asked for until the host has accepted it; after a crash of core it is taken up again from the operation on STATE.
 */
import { retry } from '#kit/retry'
import type { MachineState } from './machine/state.ts'
import type { Node } from './node.ts'

type Down = Extract<MachineState, { kind: 'rebooting' | 'stopping' }>

/** Long enough for an answer to pass the gateway; the gateway itself is stopped in order and finishes what it holds. */
const ANSWER_FIRST_MS = 200

export class Power {
  readonly #node: Node
  readonly #signal: AbortSignal

  constructor(node: Node, options: { readonly signal: AbortSignal }) {
    this.#node = node
    this.#signal = options.signal
  }

  /** Returns at once. */
  begin(down: Down): void {
    if (!this.#node.enter(down, down.operationId)) return
    this.#act(down).catch((error: unknown) => {
      if (this.#signal.aborted) return
      this.#node.log.error('power transition not accepted', { what: down.kind, error })
    })
  }

  async #act(down: Down): Promise<void> {
    const { clock, ports, log } = this.#node
    const signal = this.#signal
    await clock.sleep(ANSWER_FIRST_MS, signal)
    const ask = () =>
      down.kind === 'rebooting'
        ? ports.power.reboot({ forced: down.forced, signal })
        : ports.power.shutdown({ forced: down.forced, signal })
    await retry(ask, {
      firstDelayMs: 250,
      maxDelayMs: 5_000,
      attempts: Number.POSITIVE_INFINITY,
      clock,
      signal,
      isRetryable: () => true,
      onRetry: (error, retryInMs) =>
        log.warn('power transition asked for again', { what: down.kind, retryInMs, error }),
    })
  }
}
