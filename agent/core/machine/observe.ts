import { matchesView } from '../identity/held.ts'
import type { Node } from '../node.ts'
import type { Snapshot } from './decide.ts'

/** One look at the node, as plain data. Reads memory only. */
export function observe(node: Node): Snapshot {
  return {
    now: node.clock.now().getTime(),
    state: node.state,
    configuration: configurationOf(node),
    userDataDueAt: node.userDataDueAt,
    trialUntil: node.committed.kind === 'trial' ? Date.parse(node.committed.until) : undefined,
    hostRevision: node.hostRevision,
    identity: identityOf(node),
    identityRetryAt: node.identityRetryAt,
    publishedSerial: node.publishedSerial,
    trustStarted: node.trustStarted,
  }
}

function configurationOf(node: Node): Snapshot['configuration'] {
  if (node.loss !== undefined) return { kind: 'lost' }
  if (node.active !== undefined) {
    const controlPlane =
      node.active.view.role === 'control-plane' && node.active.view.authorityKey !== undefined
    return { kind: 'known', controlPlane, revision: node.active.version.revision }
  }
  return { kind: node.partial === undefined ? 'none' : 'partial' }
}

function identityOf(node: Node): Snapshot['identity'] {
  const { identity, view } = node
  if (identity === undefined) return { kind: 'none' }
  return {
    kind: 'held',
    serial: identity.serial,
    expiresAt: identity.notAfter.getTime(),
    renewAt: identity.renewAt.getTime(),
    matches: view === undefined || matchesView(identity, view, node.machine.addresses),
  }
}
