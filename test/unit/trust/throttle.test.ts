import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DEFAULT_POLICY, JoinThrottle } from '../../../agent/trust/throttle.ts'

/** One attempt at time `now`; true when core was asked. */
function attempt(
  throttle: JoinThrottle,
  address: string,
  username: string,
  now: number,
  isRight = false,
): boolean {
  if (throttle.admit(address, now) !== undefined) return false
  if (isRight) throttle.succeeded(address)
  else throttle.failed(address, username, now)
  return true
}

describe('guessing', () => {
  it('from one address as fast as it can be gets a few dozen guesses an hour', () => {
    const throttle = new JoinThrottle()
    let guesses = 0
    for (let now = 0; now < 3600_000; now += 50) if (attempt(throttle, 'a', 'worker', now)) guesses += 1
    expect(guesses).toBeLessThan(32)
    expect(guesses).toBeGreaterThan(DEFAULT_POLICY.failures)
  })

  it('locks out twice as long each time, up to the cap', () => {
    const throttle = new JoinThrottle()
    const locks = Array.from({ length: 16 }, () => throttle.failed('a', 'u', 0))
    expect(locks.slice(0, 8)).toEqual([0, 0, 0, 0, 1000, 2000, 4000, 8000])
    expect(Math.max(...locks)).toBe(DEFAULT_POLICY.maxLockMs)
  })

  it('never locks out an address that has not failed, whatever others do', () => {
    const step = fc.record({
      address: fc.constantFrom('a', 'b', 'c'),
      username: fc.constantFrom('x', 'y'),
      wait: fc.integer({ min: 0, max: 5000 }),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
        const throttle = new JoinThrottle()
        let now = 0
        for (const { address, username, wait } of steps) {
          now += wait
          attempt(throttle, address, username, now)
        }
        expect(throttle.admit('innocent', now)).toBeUndefined()
      }),
    )
  })

  it('at one username from many addresses leaves each one guess, and then locks it out at once', () => {
    const throttle = new JoinThrottle()
    let now = 0
    for (let address = 0; address <= DEFAULT_POLICY.usernameFailures; address += 1)
      attempt(throttle, `s${address}`, 'worker', now)
    for (let address = 0; address < 50; address += 1) {
      now += 1
      expect(attempt(throttle, `fresh-${address}`, 'worker', now)).toBe(true)
      expect(attempt(throttle, `fresh-${address}`, 'worker', now)).toBe(false)
    }
    expect(attempt(throttle, 'new-worker', 'worker', now, true)).toBe(true)
    expect(attempt(throttle, 'fresh-for-another', 'other', now)).toBe(true)
    expect(attempt(throttle, 'fresh-for-another', 'other', now)).toBe(true)
  })

  it('is forgiven after a right credential, and after long enough', () => {
    const throttle = new JoinThrottle()
    for (let guess = 0; guess < 10; guess += 1) throttle.failed('a', 'u', 0)
    expect(throttle.admit('a', 1)?.reason).toBe('locked_out')
    expect(throttle.admit('a', DEFAULT_POLICY.forgetMs + 1)).toBeUndefined()
    for (let guess = 0; guess < 4; guess += 1) throttle.failed('b', 'u2', 0)
    throttle.succeeded('b')
    expect(throttle.failed('b', 'u2', 0)).toBe(0)
  })
})

describe('a flood from one address', () => {
  it('that has failed is locked out, although its calls find no place', () => {
    const throttle = new JoinThrottle()
    throttle.failed('a', 'u', 0)
    const reasons: (string | undefined)[] = []
    for (let call = 0; call < 200; call += 1) {
      const refusal = throttle.admit('a', call)
      reasons.push(refusal?.reason)
      if (refusal === undefined) expect(throttle.turnedAway('a', call).reason).toBe('busy')
    }
    expect(reasons.filter((reason) => reason === undefined).length).toBeLessThan(
      DEFAULT_POLICY.perAddress.burst,
    )
    expect(reasons.at(-1)).toBe('locked_out')
  })

  it('that has not failed meets the rate and nothing else', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 200 }), { maxLength: 300 }), (waits) => {
        const throttle = new JoinThrottle()
        let now = 0
        for (const wait of waits) {
          now += wait
          const refusal = throttle.admit('a', now)
          if (refusal === undefined) throttle.turnedAway('a', now)
          else expect(refusal).toMatchObject({ reason: 'rate' })
          expect(refusal?.retryAfterMs ?? 0).toBeLessThanOrEqual(
            1000 / DEFAULT_POLICY.perAddress.ratePerSecond,
          )
          expect(throttle.hasFailed('a', now)).toBe(false)
        }
      }),
    )
  })
})
