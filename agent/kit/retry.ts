import type { Clock } from './clock.ts'

export type RetryPolicy = {
  readonly firstDelayMs: number
  readonly maxDelayMs: number
  /** How many calls at the most, the first included. */
  readonly attempts: number
}

export type RetryOptions = RetryPolicy & {
  readonly clock: Clock
  readonly signal: AbortSignal
  /** 0 to 1; injected so that tests can fix the spread. */
  readonly random?: () => number
  /** False ends the retrying at once: the error is of a kind that another try cannot mend. */
  readonly isRetryable: (error: unknown) => boolean
  readonly onRetry?: (error: unknown, delayMs: number, attempt: number) => void
}

/** Full-jitter exponential back-off: half of the step is fixed, half is random, so that a fleet never retries in step. */
export function backoff(attempt: number, policy: RetryPolicy, random: number): number {
  const step = Math.min(policy.maxDelayMs, policy.firstDelayMs * 2 ** Math.min(attempt, 30))
  return Math.round(step / 2 + (step / 2) * random)
}

/** Returns what `call` returns; throws its last error after the attempts are used up, or the signal's reason on abort. */
export async function retry<T>(call: (attempt: number) => Promise<T>, options: RetryOptions): Promise<T> {
  const random = options.random ?? Math.random
  for (let attempt = 0; ; attempt += 1) {
    options.signal.throwIfAborted()
    try {
      return await call(attempt)
    } catch (error) {
      options.signal.throwIfAborted()
      if (attempt + 1 >= options.attempts || !options.isRetryable(error)) throw error
      const wait = backoff(attempt, options, random())
      options.onRetry?.(error, wait, attempt + 1)
      await options.clock.sleep(wait, options.signal)
    }
  }
}
