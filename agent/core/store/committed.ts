/**
 * The configuration of the node over time, as a pure state machine.
 *
 * Invariants: a revision number names one document for ever, `counter` only grows, and so a caller who read one revision can never overwrite
 * another; the version before the one in force is kept; a trial always knows what it goes back to.
 */
import { z } from 'zod'

const versionSchema = z.strictObject({
  revision: z.int().positive(),
  document: z.string(),
  digest: z.string(),
  appliedAt: z.iso.datetime(),
  appliedBy: z.string(),
})
/** One accepted document; `appliedAt` is ISO 8601 UTC. */
export type Version = z.infer<typeof versionSchema>

const counter = z.int().nonnegative()
const previous = versionSchema.optional()

export const committedSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('none'), counter }),
  z.strictObject({ kind: z.literal('live'), counter, live: versionSchema, previous }),
  z.strictObject({
    kind: z.literal('pending'),
    counter,
    live: versionSchema,
    previous,
    staged: versionSchema,
  }),
  z.strictObject({
    kind: z.literal('trial'),
    counter,
    live: versionSchema,
    before: versionSchema,
    previous,
    until: z.iso.datetime(),
  }),
])
export type Committed = z.infer<typeof committedSchema>

export const nothingCommitted: Committed = { kind: 'none', counter: 0 }

export type Draft = Omit<Version, 'revision'>

/** The version in force, or undefined before there is one. */
export function inForce(state: Committed): Version | undefined {
  return state.kind === 'none' ? undefined : state.live
}

/** The version that waits for the next boot. */
export function staged(state: Committed): Version | undefined {
  return state.kind === 'pending' ? state.staged : undefined
}

/** The version before the one in force; for a trial, the one that it goes back to. */
export function before(state: Committed): Version | undefined {
  if (state.kind === 'none') return undefined
  return state.kind === 'trial' ? state.before : state.previous
}

/** Puts `draft` in force for good. During a trial the document on trial is confirmed under its own revision. A staged version is dropped. */
export function commit(state: Committed, draft: Draft): Committed {
  if (state.kind === 'trial' && state.live.digest === draft.digest) {
    return { kind: 'live', counter: state.counter, live: state.live, previous: state.before }
  }
  const next = numbered(state, draft)
  // What a trial put in force was never committed: what counts as previous is the version before the trial.
  const old = state.kind === 'trial' ? state.before : inForce(state)
  return { kind: 'live', counter: next.revision, live: next, previous: old }
}

/** Keeps `draft` for the next boot; without a version in force it comes into force at once. */
export function stage(state: Committed, draft: Draft): Committed {
  if (state.kind === 'none') return commit(state, draft)
  const base = state.kind === 'trial' ? revert(state) : state
  const next = numbered(base, draft)
  return { kind: 'pending', counter: next.revision, live: base.live, previous: base.previous, staged: next }
}

/** Puts `draft` in force until `until`. A trial on a trial goes back to where the first one began. */
export function tryOut(state: Committed, draft: Draft, until: Date): Committed {
  const old = state.kind === 'trial' ? state.before : inForce(state)
  if (old === undefined) return commit(state, draft)
  const next = numbered(state, draft)
  const kept = state.kind === 'none' ? undefined : state.previous
  return {
    kind: 'trial',
    counter: next.revision,
    live: next,
    before: old,
    previous: kept,
    until: until.toISOString(),
  }
}

/** Ends a trial: the version before it is in force again, under the revision it always had. */
export function revert(state: Extract<Committed, { kind: 'trial' }>): Extract<Committed, { kind: 'live' }> {
  return { kind: 'live', counter: state.counter, live: state.before, previous: state.previous }
}

/** What a boot makes of it: a staged version comes into force, and an interrupted trial is a failed one. */
export function atBoot(state: Committed): Committed {
  if (state.kind === 'trial') return revert(state)
  if (state.kind !== 'pending') return state
  return { kind: 'live', counter: state.counter, live: state.staged, previous: state.live }
}

/** What a restart of core within a boot makes of it: a trial that was interrupted is a failed one; what is staged waits on. */
export function atRestart(state: Committed): Committed {
  return state.kind === 'trial' ? revert(state) : state
}

function numbered(state: Committed, draft: Draft): Version {
  return { ...draft, revision: state.counter + 1 }
}
