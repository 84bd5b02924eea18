import { describe, expect, it } from 'vitest'
import { decide, type Snapshot } from '../../../../agent/core/machine/decide.ts'
import { quarantineOf, REMEDIES } from '../../../../agent/core/machine/quarantine.ts'
import { mayEnter } from '../../../../agent/core/machine/state.ts'

const NOW = 1_000_000
const lost: Snapshot = {
  now: NOW,
  state: { kind: 'booting', step: undefined },
  configuration: { kind: 'lost' },
  userDataDueAt: 0,
  trialUntil: undefined,
  hostRevision: undefined,
  identity: { kind: 'none' },
  identityRetryAt: 0,
  publishedSerial: undefined,
  trustStarted: false,
}

describe('the quarantine', () => {
  it.each(['state_lost', 'configuration_lost'] as const)('of a machine with %s says what is gone', (loss) => {
    const state = quarantineOf(loss)
    expect(state).toMatchObject({ code: loss, reasons: [expect.stringContaining('damaged')] })
    expect(REMEDIES[state.code]).not.toBe('')
  })

  it('of a machine that lost nothing is about user data, whose faults are still to be found', () => {
    expect(quarantineOf(undefined)).toEqual({ kind: 'quarantine', code: 'user_data', reasons: [] })
  })

  it('never promises that a disk is formatted', () => {
    expect(REMEDIES.state_lost).toContain('nothing is formatted by itself')
  })

  it('is entered from the boot, not from a node that runs', () => {
    expect(mayEnter({ kind: 'booting', step: undefined }, quarantineOf('state_lost'))).toBe(true)
    expect(mayEnter({ kind: 'running' }, quarantineOf('state_lost'))).toBe(false)
  })
})

describe('a node that lost its configuration', () => {
  const held = { kind: 'held', serial: 'a1', expiresAt: NOW + 1000, renewAt: NOW - 1, matches: true } as const
  const inQuarantine = quarantineOf('configuration_lost')

  it('goes into quarantine without reading user data, though it is due', () => {
    expect(decide(lost)).toEqual({ kind: 'enter', state: 'quarantine' })
    const next = decide({ ...lost, state: inQuarantine })
    expect(next).toEqual({ kind: 'wait', until: Number.POSITIVE_INFINITY })
  })

  it('first serves administrators with the certificate that it holds', () => {
    expect(decide({ ...lost, identity: held })).toEqual({ kind: 'publish-identity' })
  })

  it('neither renews a certificate nor asks for one', () => {
    for (const identity of [held, { ...held, expiresAt: NOW }, { kind: 'none' } as const]) {
      const seen = { ...lost, state: inQuarantine, identity, publishedSerial: 'a1' }
      expect(decide(seen)).toEqual({ kind: 'wait', until: Number.POSITIVE_INFINITY })
    }
  })
})
