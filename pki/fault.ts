/**
 * What can go wrong in the PKI: one class, one table of codes. A code is never reused for something else.
 *
 * Invariants: `message` and `hint` name the rule and never hold a secret or a value out of the refused input; the cause may, and is for logs.
 */
import { err, ok, type Result } from './result.ts'

/** Every code, with what it means. */
export const faultCodes = {
  pem_invalid: 'the text is not the PEM that was expected: label, base64 or structure',
  pem_count: 'there are more or fewer PEM blocks than allowed',
  pem_too_large: 'the PEM text is longer than its cap',
  der_invalid: 'the bytes are not canonical DER, or not of the expected structure',
  key_invalid: 'the key cannot be read',
  key_unsupported: 'the kind of key is none of P-256, Ed25519, RSA',
  key_weak: 'an RSA key below 2048 bits, or with another exponent than 65537',
  key_too_large: 'an RSA key above 4096 bits: verifying it is made expensive on purpose',
  name_invalid: 'not a DNS name or node name (RFC 1123, no wildcard, at most 253 characters)',
  address_invalid: 'not an IP address in its plain text form',
  csr_too_large: 'the request is longer than 8 KiB',
  csr_count: 'there is not exactly one request in the PEM text',
  csr_invalid: 'the request is not a canonical PKCS #10 request',
  csr_algorithm: 'the request is signed with an algorithm that is not accepted, or that is not of its key',
  csr_signature: 'the request is not signed by the key in it',
  csr_ca: 'the request asks to become an authority',
  csr_organization: 'the request asks for an organization, which is a role here',
  csr_client_usage: 'the request asks for client usage',
  csr_usage: 'the request asks for a usage that the profile does not give',
  csr_other_names: 'the request asks for names that are neither DNS names nor IP addresses',
  csr_too_many_names: 'the request asks for more than 16 names',
  csr_wildcard: 'the request asks for a wildcard name',
  csr_name_missing: 'the request names no node',
  csr_name_invalid: 'a name in the request is no valid name of a node',
  csr_name_foreign: 'a DNS name is neither the node name nor the node name with a domain',
  csr_name_reserved: 'a name belongs to the control plane or to Kubernetes',
  csr_name_taken: 'a name belongs to another key',
  csr_address_unspecified: 'an address is unspecified, such as 0.0.0.0 or ::',
  csr_address_multicast: 'an address is a multicast or broadcast address',
  csr_address_local: 'an address is loopback or link-local, and the caller does not come from there',
  csr_address_reserved: 'an address belongs to the control plane',
  csr_address_taken: 'an address belongs to another key',
  csr_peer_address: 'the address that the caller comes from is unknown or is not among the requested ones',
  subject_invalid: 'a common name is empty, longer than 64 characters or has control characters',
  names_not_allowed: 'the profile does not allow these names or roles',
  role_unknown: 'a role is not one of the table',
  lifetime_invalid: 'a lifetime is not positive or above the cap of its profile',
  serial_invalid: 'a serial number is not positive or longer than 20 octets',
  authority_invalid: 'the certificate is not one of an authority that may sign',
  authority_mismatch: 'the certificate and the key of the authority are no pair',
  authority_not_valid: 'the certificate of the authority is not valid at this time',
  issue_failed: 'the certificate that was built does not verify against its authority',
  certificate_invalid:
    'the certificate cannot be read or has an extension that must be understood and is not',
  certificate_untrusted: 'the certificate is of none of the trusted authorities',
  certificate_not_yet_valid: 'the certificate is not valid yet: the clock of one side is wrong',
  certificate_expired: 'the certificate has expired',
  certificate_usage: 'the certificate is not for this use',
  certificate_is_authority: 'the certificate is one of an authority, which may not call or serve',
  certificate_name: 'the certificate has no name',
  secrets_invalid: 'the document does not hold the secrets of a cluster',
  credential_invalid: 'a limit or password of a join credential is out of range',
} as const

export type PkiFaultCode = keyof typeof faultCodes

export class PkiFault extends Error {
  readonly code: PkiFaultCode
  readonly hint: string | undefined

  constructor(
    code: PkiFaultCode,
    message: string,
    options: { readonly hint?: string; readonly cause?: unknown } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.name = 'PkiFault'
    this.code = code
    this.hint = options.hint
  }
}

export function refuse(code: PkiFaultCode, message: string, hint?: string): Result<never, PkiFault> {
  return err(new PkiFault(code, message, hint === undefined ? {} : { hint }))
}

/** Runs a parser that throws, and returns its PkiFault, or its other error as the cause of `code`: parsers walk by throwing, faces return. */
export function attempt<T>(code: PkiFaultCode, message: string, parse: () => T): Result<T, PkiFault> {
  try {
    return ok(parse())
  } catch (cause) {
    if (cause instanceof PkiFault && cause.code !== 'der_invalid') return err(cause)
    return err(new PkiFault(code, message, { cause }))
  }
}

/** Returns the value, or throws the fault: for use below `attempt`, and where a function throws by contract. */
export function must<T>(result: Result<T, PkiFault>): T {
  if (result.ok) return result.value
  throw result.error
}
