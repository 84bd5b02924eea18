/** Why a TLS handshake failed, for the log and its counters. */
export type TlsFailure =
  | 'certificate_required'
  | 'certificate_expired'
  | 'certificate_not_yet_valid'
  | 'certificate_untrusted'
  | 'certificate_usage'
  | 'certificate_refused'
  | 'tls_version'
  | 'not_tls'
  | 'too_slow'
  | 'closed'
  | 'other'

/** By code of Node's verification of the client: X509_verify_cert_error_string(3). */
const BY_VERDICT: Readonly<Record<string, TlsFailure>> = {
  CERT_HAS_EXPIRED: 'certificate_expired',
  CERT_NOT_YET_VALID: 'certificate_not_yet_valid',
  UNABLE_TO_GET_ISSUER_CERT: 'certificate_untrusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'certificate_untrusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'certificate_untrusted',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'certificate_untrusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'certificate_untrusted',
  CERT_SIGNATURE_FAILURE: 'certificate_untrusted',
  INVALID_PURPOSE: 'certificate_usage',
}

/** By code of the error that OpenSSL or Node raised. */
const BY_CODE: Readonly<Record<string, TlsFailure>> = {
  ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE: 'certificate_required',
  ERR_SSL_UNSUPPORTED_PROTOCOL: 'tls_version',
  ERR_SSL_WRONG_VERSION_NUMBER: 'not_tls',
  ERR_SSL_HTTP_REQUEST: 'not_tls',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'not_tls',
  ERR_SSL_BAD_RECORD_TYPE: 'not_tls',
  ERR_TLS_HANDSHAKE_TIMEOUT: 'too_slow',
  ECONNRESET: 'closed',
  EPIPE: 'closed',
}

/** Classifies what `tlsClientError` brings: the verdict on the client's certificate first, since the error then only says that we closed. */
export function classifyTlsFailure(error: unknown, verdict: unknown): TlsFailure {
  if (typeof verdict === 'string' && verdict !== '') return BY_VERDICT[verdict] ?? 'certificate_refused'
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? (BY_CODE[code] ?? 'other') : 'other'
}
