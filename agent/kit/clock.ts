import { setTimeout as delay } from 'node:timers/promises'

/** The only source of time in the daemons, so that tests decide what time it is. */
export type Clock = {
  /** Wall time: what certificates, audit records and expiries are dated with. */
  now(): Date
  /** Milliseconds of a clock that never steps back: what durations and deadlines are measured with. */
  monotonic(): number
  /** Resolves after `ms`, or rejects with the signal's reason as soon as it aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  now: () => new Date(),
  monotonic: () => performance.now(),
  sleep: async (ms, signal) => {
    try {
      await delay(ms, undefined, { signal })
    } catch {
      signal.throwIfAborted()
    }
  },
}
