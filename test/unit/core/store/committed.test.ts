import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  atBoot,
  atRestart,
  before,
  commit,
  committedSchema,
  inForce,
  nothingCommitted,
  revert,
  stage,
  staged,
  tryOut,
  type Committed,
  type Draft,
} from '../../../../agent/core/store/committed.ts'

const NOW = '2030-01-01T00:00:00.000Z'
const draft = (document: string): Draft => ({
  document,
  digest: `sha256:${document}`,
  appliedAt: NOW,
  appliedBy: 'ada',
})
const until = new Date('2030-01-01T00:01:00.000Z')
const three = commit(commit(commit(nothingCommitted, draft('a')), draft('b')), draft('c'))

describe('committed configuration', () => {
  it('numbers versions from one and keeps the one before', () => {
    expect(inForce(three)).toMatchObject({ revision: 3, document: 'c' })
    expect(before(three)).toMatchObject({ revision: 2, document: 'b' })
  })

  it('brings a staged version into force at the next boot, and not at a restart of core', () => {
    const pending = stage(three, draft('d'))
    expect(inForce(pending)?.document).toBe('c')
    expect(staged(pending)).toMatchObject({ revision: 4, document: 'd' })
    expect(atRestart(pending)).toEqual(pending)
    expect(inForce(atBoot(pending))).toMatchObject({ revision: 4, document: 'd' })
    expect(before(atBoot(pending))?.document).toBe('c')
  })

  it('goes back after a trial, under the old revision, and never uses the number of the trial again', () => {
    const trial = tryOut(three, draft('d'), until)
    expect(inForce(trial)).toMatchObject({ revision: 4, document: 'd' })
    if (trial.kind !== 'trial') throw new Error('no trial')
    const back = revert(trial)
    expect(inForce(back)).toMatchObject({ revision: 3, document: 'c' })
    expect(before(back)?.document).toBe('b')
    expect(inForce(commit(back, draft('e')))?.revision).toBe(5)
  })

  it.each([atBoot, atRestart])('takes an interrupted trial for a failed one', (resume) => {
    expect(inForce(resume(tryOut(three, draft('d'), until)))?.document).toBe('c')
  })

  it('keeps what is on trial for good when it is applied again, under its revision', () => {
    const kept = commit(tryOut(three, draft('d'), until), draft('d'))
    expect(kept.kind).toBe('live')
    expect(inForce(kept)).toMatchObject({ revision: 4, document: 'd' })
    expect(before(kept)?.document).toBe('c')
  })

  it('goes back to before the first of two trials', () => {
    const trial = tryOut(tryOut(three, draft('d'), until), draft('e'), until)
    expect(inForce(atBoot(trial))?.document).toBe('c')
  })

  it('drops what is staged when another version comes into force', () => {
    expect(staged(commit(stage(three, draft('d')), draft('e')))).toBeUndefined()
  })

  it('never gives one revision to two documents, over any history', () => {
    const action = fc.record({
      kind: fc.constantFrom('commit', 'stage', 'try', 'revert', 'boot', 'restart'),
      document: fc.constantFrom('a', 'b', 'c', 'd'),
    })
    fc.assert(
      fc.property(fc.array(action, { maxLength: 40 }), (actions) => {
        const seen = new Map<number, string>()
        let state: Committed = nothingCommitted
        for (const { kind, document } of actions) {
          const last: Committed = state
          state = act(state, kind, document)
          expect(state.counter).toBeGreaterThanOrEqual(last.counter)
          committedSchema.parse(state)
          if (last.kind !== 'none') expect(inForce(state)).toBeDefined()
          for (const version of [inForce(state), staged(state), before(state)]) {
            if (version === undefined) continue
            expect(seen.get(version.revision) ?? version.document).toBe(version.document)
            seen.set(version.revision, version.document)
          }
        }
      }),
    )
  })
})

function act(state: Committed, kind: string, document: string): Committed {
  if (kind === 'commit') return commit(state, draft(document))
  if (kind === 'stage') return stage(state, draft(document))
  if (kind === 'try') return tryOut(state, draft(document), until)
  if (kind === 'boot') return atBoot(state)
  if (kind === 'restart') return atRestart(state)
  return state.kind === 'trial' ? revert(state) : state
}
