import { describe, expect, it } from 'vitest'
import { Change } from '../../../../agent/core/change.ts'
import type { Snapshot } from '../../../../agent/core/machine/decide.ts'
import { runMachine, type Executors } from '../../../../agent/core/machine/run.ts'

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined, child: () => silent }
const base: Snapshot = {
  now: 10,
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
const refuse = () => {
  throw new Error('not expected')
}
const none: Executors = {
  'revert-trial': refuse,
  'read-user-data': refuse,
  'apply-host': refuse,
  'obtain-identity': refuse,
  'publish-identity': refuse,
  'start-trust': refuse,
  enter: refuse,
}

describe('runMachine', () => {
  it('tries a step again that failed, with a pause, and goes on when it succeeds', async () => {
    const stop = new AbortController()
    let snapshot = base
    let calls = 0
    const pauses: number[] = []
    const executors: Executors = {
      ...none,
      'read-user-data': () => {
        calls += 1
        if (calls < 3) throw new Error('flaky')
        snapshot = {
          ...snapshot,
          state: { kind: 'quarantine', code: 'user_data', reasons: [] },
          userDataDueAt: 1_000_000,
        }
      },
    }
    const clock = {
      now: () => new Date(10),
      monotonic: () => 0,
      sleep: async (ms: number, signal: AbortSignal) => {
        pauses.push(ms)
        if (ms > 20_000) stop.abort()
        signal.throwIfAborted()
      },
    }
    await runMachine({
      observe: () => snapshot,
      executors,
      onStep: () => undefined,
      change: new Change(),
      clock,
      log: silent,
      signal: stop.signal,
    })
    expect(calls).toBe(3)
    expect(pauses).toHaveLength(3)
    expect(pauses[1]).toBeGreaterThan(pauses[0] ?? 0)
  })

  it('wakes from a wait when something changes', async () => {
    const stop = new AbortController()
    const change = new Change()
    let snapshot: Snapshot = {
      ...base,
      state: { kind: 'quarantine', code: 'user_data', reasons: [] },
      userDataDueAt: 1_000_000,
    }
    const clock = {
      now: () => new Date(10),
      monotonic: () => 0,
      sleep: async (_ms: number, signal: AbortSignal) => {
        queueMicrotask(() => {
          snapshot = { ...snapshot, userDataDueAt: 0 }
          change.notify()
        })
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
      },
    }
    const executors: Executors = { ...none, 'read-user-data': () => stop.abort() }
    await runMachine({
      observe: () => snapshot,
      executors,
      onStep: () => undefined,
      change,
      clock,
      log: silent,
      signal: stop.signal,
    })
    expect(stop.signal.aborted).toBe(true)
  })
})
