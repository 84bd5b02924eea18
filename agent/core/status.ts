import { MachineState as StateCode, NodeRole, type NodeStatus } from '#api'
import { REMEDIES } from './machine/quarantine.ts'
import type { MachineState } from './machine/state.ts'
import type { NodeView } from './node-view.ts'
import type { Node } from './node.ts'
import type { ServiceInfo } from './ports.ts'
import { staged } from './store/committed.ts'

/** Returns the status of the node as the API tells it; free of secrets. `services` is undefined when they cannot be asked for now. */
export function statusOf(node: Node, services: readonly ServiceInfo[] | undefined): NodeStatus {
  const { view, identity } = node
  const wanted = (services ?? []).filter((service) => service.state !== 'stopped')
  return {
    node: node.name,
    role: roleCode(view),
    state: stateCode(node.state),
    step: node.state.kind === 'booting' ? (node.state.step ?? '') : '',
    bootId: node.boot.bootId,
    bootedAt: node.boot.bootedAt,
    servicesRunning: wanted.filter((service) => service.state === 'running').length,
    servicesTotal: wanted.length,
    ...configurationOf(node),
    addresses: [...node.machine.addresses],
    certificateNotAfter: identity?.notAfter,
    certificateRenewAt: identity?.renewAt,
    findings: findingsOf(node, services),
    machineId: node.machine.id ?? '',
  }
}

function configurationOf(
  node: Node,
): Pick<NodeStatus, 'configRevision' | 'configDigest' | 'stagedRevision' | 'tryUntil'> {
  const { active, committed } = node
  return {
    configRevision: BigInt(active?.version.revision ?? 0),
    configDigest: active?.version.digest ?? '',
    stagedRevision: BigInt(staged(committed)?.revision ?? 0),
    tryUntil: committed.kind === 'trial' ? new Date(committed.until) : undefined,
  }
}

function roleCode(view: NodeView | undefined): NodeRole {
  if (view === undefined) return NodeRole.UNSPECIFIED
  return view.role === 'worker' ? NodeRole.WORKER : NodeRole.CONTROL_PLANE
}

/** The state as the API numbers it. */
export function stateCode(state: MachineState): StateCode {
  switch (state.kind) {
    case 'booting':
      return StateCode.BOOTING
    case 'running':
      return StateCode.RUNNING
    case 'quarantine':
      return StateCode.QUARANTINE
    case 'rebooting':
      return StateCode.REBOOTING
    case 'stopping':
      return StateCode.STOPPING
  }
}

function quarantineFindings(state: MachineState): NodeStatus['findings'] {
  if (state.kind !== 'quarantine') return []
  const { code, reasons } = state
  return reasons.map((message) => ({ code, message, remedy: REMEDIES[code] }))
}

function findingsOf(node: Node, services: readonly ServiceInfo[] | undefined): NodeStatus['findings'] {
  return [
    ...quarantineFindings(node.state),
    ...[...node.findings].map(([code, finding]) => ({
      code,
      message: finding.message,
      remedy: finding.remedy,
    })),
    ...(services === undefined
      ? [
          {
            code: 'services_unknown',
            message: 'The services cannot be asked for now.',
            remedy: 'look at the log of core',
          },
        ]
      : []),
  ]
}
