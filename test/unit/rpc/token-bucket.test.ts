import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fullBucket, takeToken } from '#rpc'

const policy = fc.record({
  ratePerSecond: fc.integer({ min: 1, max: 1000 }),
  burst: fc.integer({ min: 1, max: 1000 }),
})

describe('a token bucket', () => {
  it('never gives more than the burst and the rate allow', () => {
    fc.assert(
      fc.property(
        policy,
        fc.array(fc.integer({ min: -50, max: 500 }), { maxLength: 200 }),
        (limits, steps) => {
          let bucket = fullBucket(limits, 0)
          let [now, latest, given] = [0, 0, 0]
          for (const step of steps) {
            now += step
            latest = Math.max(latest, now)
            const taken = takeToken(bucket, limits, now)
            bucket = taken.bucket
            if (taken.isAllowed) given += 1
            expect(given).toBeLessThanOrEqual(limits.burst + (latest * limits.ratePerSecond) / 1000 + 1e-6)
          }
        },
      ),
    )
  })

  it('says when to come back, and keeps its word', () => {
    fc.assert(
      fc.property(policy, (limits) => {
        let taken = takeToken(fullBucket(limits, 0), limits, 0)
        while (taken.isAllowed) taken = takeToken(taken.bucket, limits, 0)
        expect(takeToken(taken.bucket, limits, taken.retryAfterMs).isAllowed).toBe(true)
      }),
    )
  })
})
