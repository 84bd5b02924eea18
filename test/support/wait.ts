import { setTimeout as delay } from 'node:timers/promises'

/** Resolves with what `probe` returns as soon as it is neither undefined nor false and does not throw; rejects after the deadline. */
export async function eventually<T>(
  probe: () => T | Promise<T>,
  options: { readonly deadlineMs?: number; readonly everyMs?: number; readonly what?: string } = {},
): Promise<Exclude<T, undefined | false>> {
  const until = performance.now() + (options.deadlineMs ?? 10_000)
  let last: unknown
  while (performance.now() < until) {
    try {
      const value = await probe()
      if (value !== undefined && value !== false) return value as Exclude<T, undefined | false>
      last = undefined
    } catch (error) {
      last = error
    }
    await delay(options.everyMs ?? 20)
  }
  throw new Error(`${options.what ?? 'the condition'} did not come true in time`, { cause: last })
}
