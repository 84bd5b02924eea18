import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ConnectionPool } from '../../../agent/rpc/connection-pool.ts'

describe('a pool of connections', () => {
  it('keeps its limits, whatever comes and goes, and never gives up the newest', () => {
    const steps = fc.array(
      fc.record({ owner: fc.constantFrom('a', 'b', 'c', 'd'), leaves: fc.option(fc.nat(30)) }),
      { maxLength: 120 },
    )
    fc.assert(
      fc.property(steps, (all) => {
        const pool = new ConnectionPool<{ owner: string }>({ total: 6, perOwner: 3 })
        const held = new Set<{ owner: string }>()
        for (const step of all) {
          const item = { owner: step.owner }
          const loser = pool.add(item, step.owner)
          expect(loser).not.toBe(item)
          held.add(item)
          if (loser !== undefined) expect(held.delete(loser)).toBe(true)
          const leaver = step.leaves === null ? undefined : [...held][step.leaves]
          if (leaver !== undefined) {
            pool.delete(leaver)
            held.delete(leaver)
          }
          expect(new Set(pool.items())).toEqual(held)
          expect(pool.size).toBeLessThanOrEqual(6)
          for (const owner of 'abcd')
            expect([...held].filter((one) => one.owner === owner).length).toBeLessThanOrEqual(3)
        }
      }),
    )
  })

  it('makes the largest holder pay, with its oldest', () => {
    const pool = new ConnectionPool<string>({ total: 4, perOwner: 4 })
    for (const item of ['flood-1', 'flood-2', 'flood-3']) expect(pool.add(item, 'flood')).toBeUndefined()
    expect(pool.add('admin-1', 'admin')).toBeUndefined()
    expect(pool.add('admin-2', 'admin')).toBe('flood-1')
    expect(pool.add('other-1', 'other')).toBe('flood-2')
  })
})
