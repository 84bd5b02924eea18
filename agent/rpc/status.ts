/**
 * The one place where an error becomes a gRPC status, and back.
 *
 * Invariant: what is not an RpcFault reaches a client as INTERNAL with an incident id and nothing else; its text stays in the log.
 */
import { randomUUID } from 'node:crypto'
import * as grpc from '@grpc/grpc-js'
import { Fault } from '#kit/fault'
import type { Log } from '#kit/log'

/** Status codes by name; numbers as in the gRPC status code table. */
const STATUS = {
  cancelled: grpc.status.CANCELLED,
  invalid_argument: grpc.status.INVALID_ARGUMENT,
  deadline_exceeded: grpc.status.DEADLINE_EXCEEDED,
  not_found: grpc.status.NOT_FOUND,
  already_exists: grpc.status.ALREADY_EXISTS,
  permission_denied: grpc.status.PERMISSION_DENIED,
  resource_exhausted: grpc.status.RESOURCE_EXHAUSTED,
  failed_precondition: grpc.status.FAILED_PRECONDITION,
  aborted: grpc.status.ABORTED,
  out_of_range: grpc.status.OUT_OF_RANGE,
  unimplemented: grpc.status.UNIMPLEMENTED,
  internal: grpc.status.INTERNAL,
  unavailable: grpc.status.UNAVAILABLE,
  data_loss: grpc.status.DATA_LOSS,
  unauthenticated: grpc.status.UNAUTHENTICATED,
} as const

export type RpcCode = keyof typeof STATUS

export const CODE_HEADER = 'stele-code'
export const HINT_HEADER = 'stele-hint'
export const INCIDENT_HEADER = 'stele-incident'

/** A refusal or failure that a client may see whole: status, stable code, sentence, hint. */
export class RpcFault extends Fault<string> {
  readonly status: RpcCode
  /** Leads to the line of the node's log that holds the cause; of INTERNAL only. */
  readonly incident: string | undefined

  constructor(
    status: RpcCode,
    code: string,
    message: string,
    options: { readonly hint?: string; readonly cause?: unknown; readonly incident?: string } = {},
  ) {
    super(code, message, options)
    this.status = status
    this.incident = options.incident
  }
}

export type WireStatus = {
  readonly code: grpc.status
  readonly details: string
  readonly metadata: grpc.Metadata
}

/** What a client is told of any thrown value. The cause is logged here, once, and only for INTERNAL. */
export function toWireStatus(error: unknown, log: Log): WireStatus {
  const fault = asFault(error)
  if (fault !== undefined) return wireStatus(fault)
  const incident = randomUUID()
  log.error('call failed', { incident, error: isError(error) ? error : { thrown: typeof error } })
  return wireStatus(
    new RpcFault('internal', 'internal', 'the node failed to do this', {
      incident,
      hint: 'the log of the node tells more under the id of the incident',
    }),
  )
}

/** The wire form of a fault: status, sentence, and the trailing metadata that carries code, hint and incident. */
export function wireStatus(fault: RpcFault): WireStatus {
  const metadata = new grpc.Metadata()
  metadata.set(CODE_HEADER, printable(fault.code))
  if (fault.hint !== undefined) metadata.set(HINT_HEADER, printable(fault.hint))
  if (fault.incident !== undefined) metadata.set(INCIDENT_HEADER, printable(fault.incident))
  return { code: STATUS[fault.status], details: fault.message, metadata }
}

/**
 * What a server said, as a fault: status, code (from `stele-code`, or derived from the status), sentence, hint and incident. A fault stays what
 * it is; anything that is no gRPC error becomes `internal`.
 */
export function fromServiceError(error: unknown): RpcFault {
  if (error instanceof RpcFault) return error
  const seen = readServiceError(error)
  if (seen === undefined)
    return asFault(error) ?? new RpcFault('internal', 'internal', 'the call failed', { cause: error })
  const code = text(seen.metadata, CODE_HEADER)
  const hint = text(seen.metadata, HINT_HEADER)
  const incident = text(seen.metadata, INCIDENT_HEADER)
  if (code === undefined) return derived(seen.status, seen.details, error)
  return new RpcFault(seen.status, code, seen.details, {
    ...(hint === undefined ? {} : { hint }),
    ...(incident === undefined ? {} : { incident }),
    cause: error,
  })
}

/** The name of a gRPC status number; `internal` for numbers that the table does not have, OK among them. */
export function statusName(code: number): RpcCode {
  for (const [name, value] of Object.entries(STATUS)) {
    // The keys of STATUS are what Object.entries returns; its type forgets that.
    if (Number(value) === code) return name as RpcCode
  }
  return 'internal'
}

const UNREACHABLE_HINT = 'check the address and that the node is up'

/** Sentences for statuses that came without a code of ours: grpc-js made them, or a server that is not ours. */
function derived(status: RpcCode, details: string, cause: unknown): RpcFault {
  const alert = fromAlert(details, cause)
  if (alert !== undefined) return alert
  if (status === 'unavailable') {
    return new RpcFault('unavailable', 'node_unreachable', 'the node cannot be reached', {
      hint: UNREACHABLE_HINT,
      cause,
    })
  }
  if (status === 'resource_exhausted' && /larger than/.test(details)) {
    return new RpcFault(status, 'message_too_large', 'the message is larger than 4 MiB', {
      hint: 'send less at once, or use a method that streams',
      cause,
    })
  }
  if (status === 'unimplemented') {
    return new RpcFault(status, 'unimplemented', 'the node does not have this method', {
      hint: 'use a client of the same version as the node',
      cause,
    })
  }
  return new RpcFault(status, status, details === '' ? 'the call failed' : details, { cause })
}

/** TLS alerts as OpenSSL names them (RFC 8446 section 6.2), and what each means here. */
const ALERTS: readonly (readonly [RegExp, string, string, string])[] = [
  [
    /alert certificate required|ALERT_CERTIFICATE_REQUIRED/i,
    'certificate_required',
    'the node asks for a client certificate and none was shown',
    'use a context that holds a certificate',
  ],
  [
    /alert certificate expired|ALERT_CERTIFICATE_EXPIRED/i,
    'certificate_expired',
    'the node refused our certificate: it has expired',
    'ask an administrator for a new one, and check both clocks',
  ],
  [
    /alert unknown ca|ALERT_UNKNOWN_CA/i,
    'certificate_untrusted',
    'the node refused our certificate: another authority signed it',
    'use the context of this cluster',
  ],
  [
    /alert protocol version|ALERT_PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL/i,
    'tls_version',
    'the node speaks TLS 1.3 and nothing older',
    'use a client that speaks TLS 1.3',
  ],
  [
    /alert (bad|unsupported|revoked) certificate|alert certificate (unknown|revoked)|alert access denied/i,
    'certificate_refused',
    'the node refused our certificate',
    'use the context of this cluster, and check both clocks',
  ],
]

function fromAlert(details: string, cause: unknown): RpcFault | undefined {
  for (const [pattern, code, message, hint] of ALERTS) {
    if (pattern.test(details)) return new RpcFault('unauthenticated', code, message, { hint, cause })
  }
  return undefined
}

/** A fault for an error that has a meaning of its own: ours, an abort, or a deadline. */
function asFault(error: unknown): RpcFault | undefined {
  if (error instanceof RpcFault) return error
  if (!isError(error)) return undefined
  if (error.name === 'TimeoutError')
    return new RpcFault('deadline_exceeded', 'deadline_exceeded', 'the deadline of the call has passed')
  if (error.name === 'AbortError') return new RpcFault('cancelled', 'cancelled', 'the call was cancelled')
  return undefined
}

function readServiceError(
  error: unknown,
): { status: RpcCode; details: string; metadata: unknown } | undefined {
  if (!isError(error) || !('details' in error) || !('code' in error)) return undefined
  const { code, details } = error
  if (typeof code !== 'number' || typeof details !== 'string') return undefined
  return {
    status: statusName(code),
    details,
    metadata: 'metadata' in error ? error.metadata : undefined,
  }
}

function text(metadata: unknown, name: string): string | undefined {
  if (!(metadata instanceof grpc.Metadata)) return undefined
  const [value] = metadata.get(name)
  return typeof value === 'string' && value !== '' ? value : undefined
}

function isError(error: unknown): error is Error {
  return error instanceof Error
}

/** HTTP/2 header values are ASCII; anything else would make the whole answer fail. */
function printable(value: string): string {
  return value.replaceAll(/[^\x20-\x7e]/g, '?')
}
