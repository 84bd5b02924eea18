import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decide, type Snapshot, type Step } from '../../../../agent/core/machine/decide.ts'
import type { MachineState } from '../../../../agent/core/machine/state.ts'

const NOW = 1_000_000
const fresh: Snapshot = {
  now: NOW,
  state: { kind: 'booting', step: undefined },
  configuration: { kind: 'none' },
  userDataDueAt: 0,
  trialUntil: undefined,
  hostRevision: undefined,
  identity: { kind: 'none' },
  identityRetryAt: 0,
  publishedSerial: undefined,
  trustStarted: false,
}
const known = (controlPlane: boolean) => ({ kind: 'known', controlPlane, revision: 1 }) as const
const held = {
  kind: 'held',
  serial: 'a1',
  expiresAt: NOW + 1_000,
  renewAt: NOW + 500,
  matches: true,
} as const
const worker: Snapshot = {
  ...fresh,
  configuration: known(false),
  hostRevision: 1,
  identity: held,
  publishedSerial: 'a1',
  state: { kind: 'running' },
}

describe('decide', () => {
  it('reads user data first', () => {
    expect(decide(fresh)).toEqual({ kind: 'read-user-data' })
  })

  it('goes into quarantine when user data gave nothing, and waits for the next reading', () => {
    const empty = { ...fresh, userDataDueAt: NOW + 5_000 }
    expect(decide(empty)).toEqual({ kind: 'enter', state: 'quarantine' })
    expect(decide({ ...empty, state: { kind: 'quarantine', code: 'user_data', reasons: [] } })).toEqual({
      kind: 'wait',
      until: NOW + 5_000,
    })
  })

  it('serves administrators in quarantine when a part of the user data names the node CA', () => {
    const partial: Snapshot = { ...fresh, userDataDueAt: NOW + 5_000, configuration: { kind: 'partial' } }
    expect(decide(partial)).toEqual({ kind: 'obtain-identity', how: 'first' })
    expect(decide({ ...partial, identity: held })).toEqual({ kind: 'publish-identity' })
  })

  it('walks a control plane from its configuration to running', () => {
    expect(walk({ ...fresh, configuration: known(true) })).toEqual([
      'apply-host',
      'obtain-identity',
      'publish-identity',
      'start-trust',
      'enter',
    ])
  })

  it('walks a worker the same way, without trust', () => {
    expect(walk({ ...fresh, configuration: known(false) })).toEqual([
      'apply-host',
      'obtain-identity',
      'publish-identity',
      'enter',
    ])
  })

  it('serves with a stored identity although no control plane can be asked (orphan mode)', () => {
    const orphan: Snapshot = {
      ...worker,
      state: { kind: 'booting', step: undefined },
      publishedSerial: undefined,
      identityRetryAt: NOW + 60_000,
    }
    expect(walk(orphan)).toEqual(['publish-identity', 'enter'])
  })

  it('renews past half of the life, and asks for a replacement when the names changed', () => {
    expect(decide({ ...worker, now: NOW + 500 })).toEqual({ kind: 'obtain-identity', how: 'renew' })
    expect(decide({ ...worker, identity: { ...held, matches: false } })).toEqual({
      kind: 'obtain-identity',
      how: 'replace',
    })
  })

  it('joins again when the certificate has expired (BR-047)', () => {
    expect(decide({ ...worker, now: NOW + 1_000 })).toEqual({ kind: 'obtain-identity', how: 'first' })
  })

  it('waits out a refusal and goes on serving meanwhile', () => {
    const refused = { ...worker, now: NOW + 500, identityRetryAt: NOW + 900 }
    expect(decide(refused)).toEqual({ kind: 'wait', until: NOW + 900 })
  })

  it('ends a trial in time, before anything else', () => {
    expect(decide({ ...worker, trialUntil: NOW })).toEqual({ kind: 'revert-trial' })
    expect(decide({ ...worker, trialUntil: NOW + 7 })).toEqual({ kind: 'wait', until: NOW + 7 })
  })

  it('does nothing more on the way down', () => {
    const state: MachineState = { kind: 'rebooting', operationId: 'x', forced: false }
    expect(decide({ ...fresh, state })).toEqual({ kind: 'wait', until: Number.POSITIVE_INFINITY })
  })

  it('comes to rest from any snapshot, doing no step twice but publishing an old identity and then its successor', () => {
    fc.assert(
      fc.property(snapshots(), (snapshot) => {
        const steps = walk(snapshot)
        const once = steps.filter((step) => step !== 'publish-identity')
        expect(new Set(once).size).toBe(once.length)
        expect(steps.length - once.length).toBeLessThanOrEqual(2)
      }),
      { numRuns: 500 },
    )
  })
})

/** Carries steps out on the snapshot, as if each succeeded, until there is nothing to do at this moment. */
function walk(from: Snapshot): string[] {
  const steps: string[] = []
  let seen = from
  for (let step = decide(seen); step.kind !== 'wait'; step = decide(seen)) {
    steps.push(step.kind)
    expect(steps.length).toBeLessThan(10)
    seen = done(seen, step)
  }
  return steps
}

function done(seen: Snapshot, step: Step): Snapshot {
  switch (step.kind) {
    case 'revert-trial':
      return { ...seen, trialUntil: undefined }
    case 'read-user-data':
      return { ...seen, userDataDueAt: seen.now + 1_000 }
    case 'apply-host':
      return {
        ...seen,
        hostRevision: seen.configuration.kind === 'known' ? seen.configuration.revision : undefined,
      }
    case 'obtain-identity':
      return {
        ...seen,
        identity: { ...held, serial: 'b2', expiresAt: seen.now + 1_000, renewAt: seen.now + 500 },
      }
    case 'publish-identity':
      return { ...seen, publishedSerial: seen.identity.kind === 'held' ? seen.identity.serial : undefined }
    case 'start-trust':
      return { ...seen, trustStarted: true }
    case 'enter':
      return {
        ...seen,
        state:
          step.state === 'running'
            ? { kind: 'running' }
            : { kind: 'quarantine', code: 'user_data', reasons: [] },
      }
    case 'wait':
      return seen
  }
}

function snapshots(): fc.Arbitrary<Snapshot> {
  const time = fc.integer({ min: NOW - 2_000, max: NOW + 2_000 })
  const state = fc.constantFrom<MachineState>(
    { kind: 'booting', step: undefined },
    { kind: 'running' },
    { kind: 'quarantine', code: 'user_data', reasons: [] },
    { kind: 'stopping', operationId: '', forced: true },
  )
  return fc.record({
    now: fc.constant(NOW),
    state,
    configuration: fc.constantFrom<Snapshot['configuration']>(
      { kind: 'none' },
      { kind: 'partial' },
      known(true),
      known(false),
    ),
    userDataDueAt: time,
    trialUntil: fc.option(time, { nil: undefined }),
    hostRevision: fc.constantFrom(undefined, 1, 2),
    identity: fc.oneof(
      fc.constant({ kind: 'none' } as const),
      fc.record({
        kind: fc.constant('held' as const),
        serial: fc.constantFrom('a1', 'b2'),
        expiresAt: time,
        renewAt: time,
        matches: fc.boolean(),
      }),
    ),
    identityRetryAt: time,
    publishedSerial: fc.constantFrom(undefined, 'a1', 'b2'),
    trustStarted: fc.boolean(),
  })
}
