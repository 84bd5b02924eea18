import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Clock } from '#kit/clock'
import { backoff, retry } from '#kit/retry'

const policy = { firstDelayMs: 100, maxDelayMs: 1_000, attempts: 4 }

function fakeClock(): Clock & { readonly slept: number[] } {
  const slept: number[] = []
  return {
    slept,
    now: () => new Date(0),
    monotonic: () => slept.reduce((sum, ms) => sum + ms, 0),
    sleep: async (ms, signal) => {
      signal.throwIfAborted()
      slept.push(ms)
    },
  }
}

describe('retry', () => {
  it('returns the first success and waits longer before each next call', async () => {
    const clock = fakeClock()
    const value = await retry(
      async (attempt) => {
        if (attempt < 3) throw new Error('not yet')
        return attempt
      },
      { ...policy, clock, signal: new AbortController().signal, random: () => 0, isRetryable: () => true },
    )
    expect(value).toBe(3)
    expect(clock.slept).toEqual([50, 100, 200])
  })

  it('throws the last error after the attempts are used up', async () => {
    const clock = fakeClock()
    const call = retry(async (attempt) => Promise.reject(new Error(`try ${attempt}`)), {
      ...policy,
      clock,
      signal: new AbortController().signal,
      isRetryable: () => true,
    })
    await expect(call).rejects.toThrow('try 3')
    expect(clock.slept).toHaveLength(3)
  })

  it('does not repeat what another try cannot mend', async () => {
    const clock = fakeClock()
    const call = retry(async () => Promise.reject(new Error('refused')), {
      ...policy,
      clock,
      signal: new AbortController().signal,
      isRetryable: () => false,
    })
    await expect(call).rejects.toThrow('refused')
    expect(clock.slept).toEqual([])
  })

  it('ends with the reason of its signal', async () => {
    const controller = new AbortController()
    const call = retry(
      async () => {
        controller.abort(new Error('shutting down'))
        throw new Error('failed')
      },
      { ...policy, clock: fakeClock(), signal: controller.signal, isRetryable: () => true },
    )
    await expect(call).rejects.toThrow('shutting down')
  })

  it('spreads retries over half of each step and never passes the cap (BR-123)', () => {
    fc.assert(
      fc.property(fc.nat(1_000), fc.double({ min: 0, max: 1, noNaN: true }), (attempt, random) => {
        const step = Math.min(policy.maxDelayMs, policy.firstDelayMs * 2 ** Math.min(attempt, 30))
        const wait = backoff(attempt, policy, random)
        expect(wait).toBeGreaterThanOrEqual(Math.floor(step / 2))
        expect(wait).toBeLessThanOrEqual(step)
      }),
    )
  })
})
