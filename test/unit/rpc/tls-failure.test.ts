import { describe, expect, it } from 'vitest'
import { classifyTlsFailure } from '../../../agent/rpc/tls-failure.ts'

const withCode = (code: string) => Object.assign(new Error('x'), { code })

describe('the cause of a TLS failure', () => {
  it.each([
    [withCode('ECONNRESET'), 'CERT_HAS_EXPIRED', 'certificate_expired'],
    [withCode('ECONNRESET'), 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'certificate_untrusted'],
    [withCode('ECONNRESET'), 'INVALID_PURPOSE', 'certificate_usage'],
    [withCode('ECONNRESET'), 'SOMETHING_NEW', 'certificate_refused'],
    [withCode('ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE'), null, 'certificate_required'],
    [withCode('ERR_SSL_UNSUPPORTED_PROTOCOL'), undefined, 'tls_version'],
    [withCode('ERR_SSL_HTTP_REQUEST'), undefined, 'not_tls'],
    [withCode('ERR_TLS_HANDSHAKE_TIMEOUT'), undefined, 'too_slow'],
    [withCode('ECONNRESET'), undefined, 'closed'],
    [new Error('x'), undefined, 'other'],
    ['x', undefined, 'other'],
  ])('%s with verdict %s is %s', (error, verdict, cause) => {
    expect(classifyTlsFailure(error, verdict)).toBe(cause)
  })
})
