import { createHash } from 'node:crypto'
import { RpcFault, type CallContext, type Identity } from '#rpc'
import { REASONS, REMEDIES } from '../machine/quarantine.ts'
import { inWords, isGoingDown } from '../machine/state.ts'
import type { ActiveConfiguration, Node } from '../node.ts'
import type { OperationCall } from '../operation.ts'

/** A call of a caller whose certificate was verified and whose role allows it. */
export type AgentContext = CallContext & { readonly identity: Identity }

/** Throws FAILED_PRECONDITION while the machine goes down: nothing new begins then. */
export function requireUp(node: Node): void {
  if (!isGoingDown(node.state)) return
  throw new RpcFault('failed_precondition', 'machine_going_down', `the machine is ${inWords(node.state)}`, {
    hint: 'try again when it is back',
  })
}

/** Throws FAILED_PRECONDITION while memory stands in for STATE, or STATE may be another's: what would be accepted now would be gone at the next boot. */
export function requireState(node: Node): void {
  const { loss } = node
  if (loss === undefined || loss === 'configuration_lost') return
  throw new RpcFault('failed_precondition', loss, node.lossReason ?? REASONS[loss], { hint: REMEDIES[loss] })
}

/** Returns the configuration in force; throws FAILED_PRECONDITION, with the state of the machine, when there is none. */
export function requireConfiguration(node: Node): ActiveConfiguration {
  if (node.active !== undefined) return node.active
  throw new RpcFault(
    'failed_precondition',
    'not_configured',
    `the node has no configuration; the machine is ${inWords(node.state)}`,
    {
      hint: 'stelectl apply sends one',
    },
  )
}

/** Throws INVALID_ARGUMENT for a number that is no member of the enumeration: a newer client may mean something else by it. */
export function requireKnown(value: number, known: Readonly<Record<string, number>>, field: string): void {
  if (Object.values(known).includes(value)) return
  throw new RpcFault('invalid_argument', 'enum_unknown', `the value of ${field} is not known here`, {
    hint: 'use a client of the same version as the node',
  })
}

/** What identifies a mutating call for idempotency; `request` is the encoded message, in which the key itself may stand. */
export function operationCall(context: AgentContext, key: string, request: Buffer): OperationCall {
  const digest = createHash('sha256').update(request).digest('hex')
  return { key, caller: `${context.identity.commonName}`, method: context.path, request: digest }
}
