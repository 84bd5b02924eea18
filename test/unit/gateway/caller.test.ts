import { X509Certificate } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Clock } from '#kit/clock'
import { CallerBook } from '../../../agent/gateway/caller.ts'
import { makeAuthority, makeClient, type TestAuthority } from '../../support/certificates.ts'

let authority: TestAuthority
let der: Buffer
let notAfter: Date

function clockAt(time: { now: Date }): Clock {
  return { now: () => time.now, monotonic: () => 0, sleep: () => Promise.resolve() }
}

beforeAll(async () => {
  authority = await makeAuthority()
  const certificate = new X509Certificate(
    (await makeClient(authority, { lifetimeSeconds: 3600 })).certificate,
  )
  der = certificate.raw
  notAfter = new Date(certificate.validTo)
})

describe('a caller', () => {
  it('is known while the certificate is valid, and not a moment longer', () => {
    const time = { now: new Date() }
    const book = new CallerBook([authority.bundle.certificatePem], clockAt(time))
    expect(book.identify(der).commonName).toBe('alice')
    time.now = new Date(notAfter.getTime() + 1000)
    expect(() => book.identify(der)).toThrow(expect.objectContaining({ code: 'certificate_expired' }))
  })

  it('is no longer known once its authority is gone', async () => {
    const book = new CallerBook([authority.bundle.certificatePem], clockAt({ now: new Date() }))
    book.identify(der)
    book.trust([(await makeAuthority('next')).bundle.certificatePem])
    expect(() => book.identify(der)).toThrow(expect.objectContaining({ code: 'certificate_untrusted' }))
    book.trust([])
    expect(() => book.identify(der)).toThrow(expect.objectContaining({ status: 'unauthenticated' }))
  })

  it('without a certificate is nobody', () => {
    const book = new CallerBook([authority.bundle.certificatePem], clockAt({ now: new Date() }))
    for (const none of [undefined, Buffer.alloc(0)])
      expect(() => book.identify(none)).toThrow(expect.objectContaining({ code: 'certificate_required' }))
    expect(() => book.identify(Buffer.from('junk'))).toThrow(
      expect.objectContaining({ code: 'certificate_invalid' }),
    )
  })
})
