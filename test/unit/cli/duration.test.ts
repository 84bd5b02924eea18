import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { durationBetween, formatDistance, formatElapsed, parseDuration } from '../../../agent/cli/duration.ts'

describe('durationBetween', () => {
  it('takes both bounds and nothing beyond, with a hint', () => {
    const read = durationBetween('5s', '1h')
    expect([read('5s'), read('60m')]).toEqual([5000, 3_600_000])
    expect(() => read('4999ms')).toThrow(
      expect.objectContaining({ code: 'usage', hint: 'the shortest is 5s' }),
    )
    expect(() => read('61m')).toThrow(expect.objectContaining({ code: 'usage', hint: 'the longest is 1h' }))
  })
})

describe('parseDuration', () => {
  it.each([
    ['500ms', 500],
    ['60s', 60_000],
    ['1.5m', 90_000],
    ['12h', 43_200_000],
    ['30d', 2_592_000_000],
  ])('reads %s', (text, milliseconds) => {
    expect(parseDuration(text)).toBe(milliseconds)
  })

  it.each(['', '5', '0s', '-5s', '5 s', '5w', '1e3s', 'Infinitys', '5s5s', '٥s'])(
    'refuses %j with a hint',
    (text) => {
      expect(() => parseDuration(text)).toThrow(
        expect.objectContaining({ code: 'usage', hint: expect.stringContaining('60s') as string }),
      )
    },
  )

  it('never returns what is no positive number, whatever the text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          expect(parseDuration(text)).toBeGreaterThan(0)
        } catch (error) {
          expect(error).toMatchObject({ code: 'usage' })
        }
      }),
    )
  })
})

describe('formatting', () => {
  it.each([
    [420, '0.4 s'],
    [1800, '1.8 s'],
    [12_400, '12 s'],
    [200_000, '3 min 20 s'],
  ])('writes %d ms as %s', (milliseconds, text) => {
    expect(formatElapsed(milliseconds)).toBe(text)
  })

  it.each([
    [0, 'now'],
    [82_800_000, 'in 23 h'],
    [-300_000, '5 min ago'],
    [172_800_001, 'in 2 d'],
    [86_399_000, 'in 1 d'],
    [86_100_000, 'in 1 d'],
    [84_600_000 - 1, 'in 23 h'],
    [7_190_000, 'in 2 h'],
    [59_900, 'in 1 min'],
    [500, 'now'],
  ])('says how far %d ms is', (offset, text) => {
    const now = new Date('2026-01-01T00:00:00Z')
    expect(formatDistance(new Date(now.getTime() + offset), now)).toBe(text)
  })
})
