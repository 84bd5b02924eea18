/**
 * What stands behind each door: services with their guard. Every call passes identity, table and mode before its handler, and leaves one
 * audit record, refused calls included; a stream leaves one at its start as well, as its end may be far.
 */
import {
  agentServices,
  ConfigServiceService,
  CredentialServiceService,
  EventServiceService,
  IntegrityServiceService,
  LogServiceService,
  ResourceServiceService,
  ServiceServiceService,
  SystemServiceService,
  TrustServiceService,
} from '#api'
import { implement, RpcFault, type CallChain, type CallContext, type Identity } from '#rpc'
import type { AuditWho } from './audit.ts'
import { authorization, authorize } from './authorization.ts'
import { addressOf, CallerCheck } from './caller.ts'
import { signingAuthority } from './credential/signing-authority.ts'
import { Signer } from './credential/signer.ts'
import type { Node } from './node.ts'
import type { Power } from './power.ts'
import { configHandlers } from './rpc/config.ts'
import { credentialHandlers } from './rpc/credential.ts'
import { eventHandlers } from './rpc/event.ts'
import { integrityHandlers } from './rpc/integrity.ts'
import { logHandlers } from './rpc/log.ts'
import { resourceHandlers } from './rpc/resource.ts'
import { serviceHandlers } from './rpc/service.ts'
import { systemHandlers } from './rpc/system.ts'
import { trustHandlers } from './rpc/trust.ts'
import type { Implemented } from './server.ts'
import type { State } from './state.ts'

export type ServeParts = {
  readonly node: Node
  readonly state: State
  readonly power: Power
  readonly version: string
  /** Aborts when core stops: streams end then, so that their clients can go on elsewhere. */
  readonly stopping: AbortSignal
}

/** The gateway holds a call for at most this long; core ends it a little earlier, with a status of its own. */
const DEADLINE_MS = 30_000

type Methods = Readonly<Record<string, { readonly path: string; readonly responseStream: boolean }>>
const served: readonly Methods[] = Object.values(agentServices)
const streams: ReadonlySet<string> = new Set(
  served
    .flatMap((service) => Object.values(service))
    .filter((method) => method.responseStream)
    .map((method) => method.path),
)

/** The services of the agent API, for the gateway's door. */
export function agentDoor(parts: ServeParts): readonly Implemented[] {
  const { node, state, power, version } = parts
  const { operations, book, events } = state
  const options = {
    chain: agentChain(parts),
    log: node.log,
    clock: node.clock,
    defaultDeadlineMs: DEADLINE_MS,
  }
  return [
    implement(SystemServiceService, systemHandlers({ node, operations, power, version }), options),
    implement(ConfigServiceService, configHandlers({ node, operations }), options),
    implement(ServiceServiceService, serviceHandlers({ node, operations }), options),
    implement(ResourceServiceService, resourceHandlers(node), options),
    implement(IntegrityServiceService, integrityHandlers(node), options),
    implement(LogServiceService, logHandlers(node), options),
    implement(EventServiceService, eventHandlers(events), options),
    implement(CredentialServiceService, credentialHandlers({ node, book, operations }), options),
  ]
}

/** TrustService alone, for trust's door. */
export function trustDoor(parts: ServeParts): readonly Implemented[] {
  const { node, state } = parts
  const signer = new Signer({ book: state.book, authority: () => signingAuthority(node) })
  const handlers = trustHandlers({ signer, audit: state.audit, events: state.events, clock: node.clock })
  const chain: CallChain<{ readonly address: string }> = {
    guard: async ({ path, metadata }) => {
      if (authorization[path] !== 'trust') throw noRow()
      return { address: addressOf(metadata) }
    },
  }
  return [
    implement(TrustServiceService, handlers, {
      chain,
      log: node.log,
      clock: node.clock,
      defaultDeadlineMs: DEADLINE_MS,
    }),
  ]
}

type AgentExtra = { readonly identity: Identity; readonly signal: AbortSignal }

/** The guard of every agent call: identity from the certificate, row of the table, mode of the machine; and its audit record. */
export function agentChain(parts: Pick<ServeParts, 'node' | 'state' | 'stopping'>): CallChain<AgentExtra> {
  const { node, state } = parts
  const callers = new CallerCheck({
    authorities: () => node.authorities,
    isDenied: (serial) => state.book.isDenied(serial),
    clock: node.clock,
  })
  // Who called is known before the call is refused, and its record must tell.
  const seen = new WeakMap<CallContext, Identity>()
  const record = (call: CallContext, outcome: string, ms: number) =>
    state.audit.record({
      who: whoOf(seen.get(call)),
      from: addressOf(call.metadata),
      what: call.path.slice(1),
      outcome,
      ms: Math.round(ms),
      requestId: call.requestId,
    })
  return {
    guard: async (call) => {
      const identity = callers.identify(call.metadata)
      seen.set(call, identity)
      requireRole(call.path, identity)
      requireMode(node, identity)
      if (!streams.has(call.path)) return { identity, signal: call.signal }
      record(call, 'started', 0)
      return { identity, signal: AbortSignal.any([call.signal, parts.stopping]) }
    },
    settled: ({ call, code, ms }) => record(call, code ?? 'ok', ms),
  }
}

function requireRole(path: string, identity: Identity): void {
  const decision = authorize(path, identity.roles)
  if (decision.kind === 'allowed') return
  if (decision.kind === 'no-row') throw noRow()
  const held =
    identity.roles.length === 0 ? 'a certificate without a role' : `role "${identity.roles.join('", "')}"`
  throw new RpcFault('permission_denied', 'role_missing', `${held} may not call ${path.slice(1)}`, {
    hint: `use a context whose certificate carries role ${decision.needs.join(' or ')}`,
  })
}

/** In quarantine the node is not what anyone asked for yet: it is reached by those alone who can mend it. */
function requireMode(node: Node, identity: Identity): void {
  if (node.state.kind !== 'quarantine' || identity.roles.includes('stele:admin')) return
  throw new RpcFault(
    'permission_denied',
    'quarantine',
    'the machine is in quarantine: only administrators reach it',
    {
      hint: 'use a context whose certificate carries role stele:admin',
    },
  )
}

function noRow(): RpcFault {
  return new RpcFault('permission_denied', 'no_row', 'nobody may call this method')
}

function whoOf(identity: Identity | undefined): AuditWho | undefined {
  return identity && { commonName: identity.commonName, serial: identity.serial, roles: identity.roles }
}
