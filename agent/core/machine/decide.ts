/**
 * What to do next, from one look at the node: the boot sequence, renewal, trials and the way out of quarantine are all this one function.
 *
 * Invariants: pure and total; level-triggered, so that a crash after any step leads to the same end; a node that holds a valid identity serves
 * with it first and asks for the next one afterwards, so that an unreachable control plane never takes its API away.
 */
import type { MachineState } from './state.ts'

/** All times are milliseconds since the epoch. */
export type Snapshot = {
  readonly now: number
  readonly state: MachineState
  readonly configuration:
    | { readonly kind: 'none' }
    /** There was one, and STATE no longer has it or may be another's: user data is not read, for it is not what this node was. */
    | { readonly kind: 'lost' }
    /** The user data is broken, but its NodeConfig alone names a node CA and its key. */
    | { readonly kind: 'partial' }
    | { readonly kind: 'known'; readonly controlPlane: boolean; readonly revision: number }
  readonly userDataDueAt: number
  readonly trialUntil: number | undefined
  readonly hostRevision: number | undefined
  readonly identity:
    | { readonly kind: 'none' }
    | {
        readonly kind: 'held'
        readonly serial: string
        readonly expiresAt: number
        readonly renewAt: number
        /** False when the configuration now asks for other names or another authority. */
        readonly matches: boolean
      }
  readonly identityRetryAt: number
  readonly publishedSerial: string | undefined
  readonly trustStarted: boolean
}

export type Step =
  | { readonly kind: 'revert-trial' }
  | { readonly kind: 'read-user-data' }
  | { readonly kind: 'apply-host' }
  /** `first`: no certificate is usable. `renew`: the one held is past half its life. `replace`: it names something else than it should. */
  | { readonly kind: 'obtain-identity'; readonly how: 'first' | 'renew' | 'replace' }
  | { readonly kind: 'publish-identity' }
  | { readonly kind: 'start-trust' }
  | { readonly kind: 'enter'; readonly state: 'running' | 'quarantine' }
  /** Nothing to do before `until`, or before something changes. */
  | { readonly kind: 'wait'; readonly until: number }

const NEVER = Number.POSITIVE_INFINITY

/** Returns the one next step. */
export function decide(seen: Snapshot): Step {
  if (seen.state.kind === 'rebooting' || seen.state.kind === 'stopping') return { kind: 'wait', until: NEVER }
  if (seen.trialUntil !== undefined && seen.now >= seen.trialUntil) return { kind: 'revert-trial' }
  if (seen.configuration.kind === 'lost') return lost(seen)
  if (seen.configuration.kind !== 'known') return unconfigured(seen, seen.configuration.kind === 'partial')
  return configured(seen, seen.configuration)
}

/** Serves administrators with the certificate that is there, and makes none. */
function lost(seen: Snapshot): Step {
  const { identity, now, state } = seen
  const usable = identity.kind === 'held' && now < identity.expiresAt
  if (usable && seen.publishedSerial !== identity.serial) return { kind: 'publish-identity' }
  if (state.kind !== 'quarantine') return { kind: 'enter', state: 'quarantine' }
  return { kind: 'wait', until: NEVER }
}

function unconfigured(seen: Snapshot, partial: boolean): Step {
  if (seen.now >= seen.userDataDueAt) return { kind: 'read-user-data' }
  const serve = partial ? serving(seen) : undefined
  if (serve !== undefined && serve.kind !== 'wait') return serve
  if (seen.state.kind !== 'quarantine') return { kind: 'enter', state: 'quarantine' }
  return { kind: 'wait', until: Math.min(seen.userDataDueAt, serve?.until ?? NEVER) }
}

function configured(
  seen: Snapshot,
  configuration: { readonly controlPlane: boolean; readonly revision: number },
): Step {
  if (seen.hostRevision !== configuration.revision) return { kind: 'apply-host' }
  const serve = serving(seen)
  const usable = seen.identity.kind === 'held' && seen.now < seen.identity.expiresAt
  if (!usable || serve.kind === 'publish-identity') return serve
  if (configuration.controlPlane && !seen.trustStarted) return { kind: 'start-trust' }
  if (seen.state.kind !== 'running') return { kind: 'enter', state: 'running' }
  if (serve.kind !== 'wait') return serve
  return { kind: 'wait', until: Math.min(serve.until, seen.trialUntil ?? NEVER) }
}

/** The part about the identity: have one, publish it, replace it in time. */
function serving(seen: Snapshot): Extract<Step, { kind: 'obtain-identity' | 'publish-identity' | 'wait' }> {
  const { identity, now } = seen
  const mayAsk = now >= seen.identityRetryAt
  if (identity.kind === 'none' || now >= identity.expiresAt) {
    return mayAsk ? { kind: 'obtain-identity', how: 'first' } : { kind: 'wait', until: seen.identityRetryAt }
  }
  if (seen.publishedSerial !== identity.serial) return { kind: 'publish-identity' }
  const due = !identity.matches || now >= identity.renewAt
  if (due && mayAsk) return { kind: 'obtain-identity', how: identity.matches ? 'renew' : 'replace' }
  return { kind: 'wait', until: due ? seen.identityRetryAt : identity.renewAt }
}
