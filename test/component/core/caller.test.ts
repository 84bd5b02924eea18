import { Metadata } from '@grpc/grpc-js'
import { X509Certificate } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { CallerCheck } from '../../../agent/core/caller.ts'
import { createAuthority, issueAdminCertificate, loadAuthority } from '../../../pki/index.ts'

const START = Date.UTC(2030, 0, 1)
async function setUp(roles: readonly string[] = ['stele:admin']) {
  let now = START
  const denied = new Set<string>()
  let lost = false
  const bundle = await createAuthority({ commonName: 'test', now: new Date(START) })
  const authority = loadAuthority(bundle)
  if (!authority.ok) throw authority.error
  let authorities: readonly string[] = [bundle.certificatePem]
  const clock = { now: () => new Date(now), monotonic: () => 0, sleep: async () => undefined }
  const check = new CallerCheck({
    authorities: () => authorities,
    isDenied: (serial) => (lost ? 'unknown' : denied.has(serial)),
    clock,
  })
  const issued = await issueAdminCertificate({
    authority: authority.value,
    commonName: 'ada',
    roles,
    now: new Date(START),
    lifetimeSeconds: 3600,
  })
  const identify = (certificate = new X509Certificate(issued.certificatePem).raw) => {
    const metadata = new Metadata()
    metadata.set('stele-peer-certificate-bin', certificate)
    metadata.set('stele-peer-address', '2001:db8::1')
    return check.identify(metadata)
  }
  return {
    identify,
    check,
    denied,
    issued,
    lose: () => (lost = true),
    setNow: (ms: number) => (now = ms),
    setAuthorities: (next: readonly string[]) => (authorities = next),
  }
}

describe('CallerCheck', () => {
  it('knows the caller by its certificate', async () => {
    const { identify, issued } = await setUp()
    expect(identify()).toMatchObject({
      commonName: 'ada',
      roles: ['stele:admin'],
      serial: issued.serial,
      address: '2001:db8::1',
    })
  })

  it('looks at validity in every call, also of a certificate that it has seen, and says which end was missed (BR-045)', async () => {
    const { identify, setNow } = await setUp()
    identify()
    setNow(START + 3601_000)
    expect(identify).toThrow(
      expect.objectContaining({ status: 'unauthenticated', code: 'certificate_expired' }),
    )
    setNow(START - 3601_000)
    expect(identify).toThrow(expect.objectContaining({ code: 'certificate_not_yet_valid' }))
    setNow(START)
    expect(identify().commonName).toBe('ada')
  })

  it('forgets what it has seen when the authorities change', async () => {
    const { identify, setAuthorities } = await setUp()
    identify()
    setAuthorities([])
    expect(identify).toThrow(expect.objectContaining({ status: 'unauthenticated' }))
    const other = await createAuthority({ commonName: 'other', now: new Date(START) })
    setAuthorities([other.certificatePem])
    expect(identify).toThrow(expect.objectContaining({ status: 'unauthenticated' }))
  })

  it('lets in administrators only when the list of denials is lost', async () => {
    const admin = await setUp()
    admin.lose()
    expect(admin.identify().commonName).toBe('ada')
    const operator = await setUp(['stele:operator'])
    operator.lose()
    expect(operator.identify).toThrow(
      expect.objectContaining({ status: 'unauthenticated', code: 'denials_unknown' }),
    )
  })

  it('refuses a denied serial at once', async () => {
    const { identify, denied, issued } = await setUp()
    identify()
    denied.add(issued.serial)
    expect(identify).toThrow(expect.objectContaining({ code: 'certificate_denied' }))
  })

  it('refuses no certificate, an empty one, two, a huge one and any with a flipped bit', async () => {
    const { identify, check, issued } = await setUp()
    const der = new X509Certificate(issued.certificatePem).raw
    expect(() => check.identify(new Metadata())).toThrow(
      expect.objectContaining({ code: 'no_client_certificate' }),
    )
    expect(() => identify(Buffer.alloc(0))).toThrow(
      expect.objectContaining({ code: 'no_client_certificate' }),
    )
    expect(() => identify(Buffer.alloc(20_000))).toThrow(
      expect.objectContaining({ code: 'no_client_certificate' }),
    )
    const two = new Metadata()
    two.add('stele-peer-certificate-bin', der)
    two.add('stele-peer-certificate-bin', der)
    expect(() => check.identify(two)).toThrow(expect.objectContaining({ code: 'no_client_certificate' }))
    for (let bit = 0; bit < der.length * 8; bit += 37) {
      const flipped = Buffer.from(der)
      flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
      expect(() => identify(flipped)).toThrow(expect.objectContaining({ status: 'unauthenticated' }))
    }
  })
})
