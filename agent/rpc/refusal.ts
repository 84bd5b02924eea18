/**
 * Why a connection over TLS failed. With TLS 1.3 a server judges the client's certificate after the client is done (RFC 8446 section 4.4.2.4), and
 * often just closes; so what the server said is read first, and then our own certificate is looked at, as the server would.
 *
 * Invariant: a certificate problem is never reported as a node that cannot be reached.
 */
import { X509Certificate } from 'node:crypto'
import { verifyClientCertificate } from '#pki'
import type { Attempts, ClientTls } from './dial.ts'
import { fromServiceError, RpcFault } from './status.ts'

export type RefusalOptions = {
  readonly tls: ClientTls | undefined
  readonly attempts: Attempts
  readonly now: Date
}

/** The fault of a failed call, with what is known about the connection it went over. */
export function explain(error: unknown, options: RefusalOptions): RpcFault {
  const fault = fromServiceError(error)
  const { tls, attempts } = options
  if (tls === undefined || fault.status !== 'unavailable' || fault.code !== 'node_unreachable') return fault
  const details = detailsOf(error)
  // What is known is of an earlier connection then.
  if (NO_CONNECTION.test(details)) return fault
  const told = ofTlsFailure(attempts.failure)
  if (told !== undefined) return told
  const isBroken = attempts.isSecured && details.includes('No connection established')
  return isBroken ? ofOwnCertificate(options, fault) : fault
}

/** System errors of a connection that was never made, as Node words them. */
const NO_CONNECTION = /\b(connect|getaddrinfo) E[A-Z]/

/** Codes of OpenSSL's and Node's verification of the server (X509_verify_cert_error_string(3)). */
const SERVER_EXPIRED: readonly string[] = ['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID']
const SERVER_UNTRUSTED =
  /^(SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_|CERT_SIGNATURE_FAILURE|CERT_UNTRUSTED|INVALID_|CERT_REJECTED)/

function ofTlsFailure(failure: Error | undefined): RpcFault | undefined {
  if (failure === undefined) return undefined
  if (failure instanceof RpcFault) return failure
  const code = 'code' in failure && typeof failure.code === 'string' ? failure.code : ''
  if (SERVER_EXPIRED.includes(code)) {
    return new RpcFault(
      'unauthenticated',
      'certificate_server_expired',
      'the certificate of the node is not valid now',
      { hint: 'check both clocks', cause: failure },
    )
  }
  if (SERVER_UNTRUSTED.test(code)) {
    return new RpcFault(
      'unauthenticated',
      'certificate_server_untrusted',
      'the certificate of the node is not signed by an authority we trust',
      { hint: 'use the context of this cluster, or check what answers at this address', cause: failure },
    )
  }
  const alert = fromServiceError(
    Object.assign(new Error(failure.message), { code: 14, details: `${code} ${failure.message}` }),
  )
  return alert.code === 'node_unreachable' ? undefined : alert
}

/** What our certificate may be refused for: the code of the PKI, and what to do. */
const OWN: Readonly<Record<string, readonly [string, string]>> = {
  certificate_expired: ['it has expired', 'ask an administrator for a new one'],
  certificate_not_yet_valid: ['it is not valid yet', 'check both clocks'],
  certificate_untrusted: ['another authority signed it', 'use the context of this cluster'],
  certificate_usage: ['it is not made for clients', 'use a client certificate, not the one of a node'],
}

/** The server ended a connection that was fine on our side: what is wrong with our certificate, as far as we can tell? */
function ofOwnCertificate(options: RefusalOptions, fault: RpcFault): RpcFault {
  const { certificate, authorities } = options.tls ?? { authorities: [] }
  if (certificate === undefined) return fault
  const own = verifyOwn(certificate, { authorities, now: options.now })
  const [why, hint] = OWN[own ?? ''] ?? [undefined, 'use the context of this cluster, and check both clocks']
  const message = `the node refused our certificate${why === undefined ? '' : `: ${why}`}`
  const code = why === undefined || own === undefined ? 'certificate_refused' : own
  return new RpcFault('unauthenticated', code, message, { hint, cause: fault })
}

/** Returns the code of what a server would refuse our certificate for, or undefined. */
function verifyOwn(
  certificate: string,
  options: { authorities: readonly string[]; now: Date },
): string | undefined {
  try {
    const verified = verifyClientCertificate(new X509Certificate(certificate).raw, options)
    return verified.ok ? undefined : verified.error.code
  } catch {
    return 'certificate_invalid'
  }
}

function detailsOf(error: unknown): string {
  return error instanceof Error && 'details' in error ? String(error.details) : ''
}
