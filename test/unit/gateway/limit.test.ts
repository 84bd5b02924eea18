import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CallLimiter, type CallKind } from '../../../agent/gateway/limit.ts'

const limits = { ratePerSecond: 1000, burst: 1000, unary: 3, streams: 2, total: 6 }

describe('the limits of callers', () => {
  it('hold for any order of calls and ends, and come down to nothing', () => {
    const step = fc.record({
      who: fc.constantFrom('a', 'b', 'c'),
      kind: fc.constantFrom<CallKind>('unary', 'stream'),
      ends: fc.option(fc.nat(10)),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const limiter = new CallLimiter(limits)
        const open: { who: string; kind: CallKind; release(): void }[] = []
        for (const { who, kind, ends } of steps) {
          const admission = limiter.admit(who, kind, 0)
          if (admission.kind === 'admitted') open.push({ who, kind, release: () => admission.release() })
          const [ended] = ends === null ? [] : open.splice(ends, 1)
          ended?.release()
          ended?.release()
          expect(limiter.open).toBe(open.length)
          expect(open.length).toBeLessThanOrEqual(limits.total)
          const count = (kindOf: CallKind) =>
            open.filter((one) => one.who === who && one.kind === kindOf).length
          expect(count('unary')).toBeLessThanOrEqual(limits.unary)
          expect(count('stream')).toBeLessThanOrEqual(limits.streams)
        }
        for (const one of open) one.release()
        expect(limiter.open).toBe(0)
      }),
    )
  })

  it('keep one caller from using up another one', () => {
    const limiter = new CallLimiter({ ...limits, burst: 2, ratePerSecond: 1 })
    for (let call = 0; call < 10; call += 1) limiter.admit('greedy', 'unary', 0)
    expect(limiter.admit('greedy', 'unary', 0)).toMatchObject({
      kind: 'refused',
      reason: 'rate',
      retryAfterMs: 1000,
    })
    expect(limiter.admit('other', 'unary', 0).kind).toBe('admitted')
  })
})
