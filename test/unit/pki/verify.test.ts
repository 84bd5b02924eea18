import { createPublicKey, X509Certificate } from 'node:crypto'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  createAuthority,
  createCsr,
  issueAdminCertificate,
  issueCertificate,
  parseCsr,
  renewalTime,
  signRenewal,
  spkiFingerprintOfKey,
  verifyClientCertificate,
  verifyNodeCertificate,
  verifyRenewal,
  type IssuedCertificate,
  type KeyAlgorithm,
} from '../../../pki/index.ts'
import { codeOf, newAuthority, newKey, NOW, SECOND, valueOf } from './build.ts'

let authority: Awaited<ReturnType<typeof newAuthority>>
let other: Awaited<ReturnType<typeof newAuthority>>
let client: IssuedCertificate
let node: IssuedCertificate
const nodeKey = await newKey()
const rawOf = (pem: string) => new X509Certificate(pem).raw
const LATER = new Date(NOW.getTime() + 3_600 * SECOND)

beforeAll(async () => {
  authority = await newAuthority()
  other = await newAuthority()
  client = await issueAdminCertificate({
    authority,
    commonName: 'ann',
    roles: ['stele:reader', 'stele:operator'],
    now: LATER,
  })
  node = await issueCertificate({
    profile: 'node-serving',
    publicKey: createPublicKey(nodeKey),
    subject: { commonName: 'w1' },
    dnsNames: ['w1', 'w1.example.com'],
    ipAddresses: ['10.0.0.1', '::1'],
    authority,
    now: LATER,
  })
})

describe('verifyClientCertificate', () => {
  const verify = (der: Buffer, authorities: readonly string[], now: Date) =>
    verifyClientCertificate(der, { authorities, now })

  it('returns who it is', () => {
    const { serial, fingerprint, notAfter } = client
    const expected = {
      commonName: 'ann',
      roles: ['stele:reader', 'stele:operator'],
      serial,
      fingerprint,
      notAfter,
    }
    expect(valueOf(verify(rawOf(client.certificatePem), [authority.pem], LATER))).toEqual(expected)
  })

  it('finds the authority among several, of the same name, in one PEM or broken beside it (BR-042, BR-046)', () => {
    const der = rawOf(client.certificatePem)
    expect(codeOf(verify(der, [other.pem, authority.pem], LATER))).toBe('accepted')
    expect(codeOf(verify(der, [`${other.pem}\r\n# new\r\n${authority.pem}`], LATER))).toBe('accepted')
    expect(codeOf(verify(der, ['broken', authority.pem], LATER))).toBe('accepted')
  })

  it('trusts nobody without an authority, and no other one (BR-042)', () => {
    const der = rawOf(client.certificatePem)
    for (const authorities of [[], [''], [other.pem], [client.certificatePem]]) {
      expect(codeOf(verify(der, authorities, LATER))).toBe('certificate_untrusted')
    }
  })

  it('tells too early from too late (BR-045)', () => {
    const at = (seconds: number) =>
      codeOf(
        verify(rawOf(client.certificatePem), [authority.pem], new Date(LATER.getTime() + seconds * SECOND)),
      )
    const life = 7 * 86_400
    expect(at(-45)).toBe('accepted')
    expect(at(-300)).toBe('accepted')
    expect(at(-360)).toBe('certificate_not_yet_valid')
    expect(at(life)).toBe('accepted')
    expect(at(life + 1)).toBe('certificate_expired')
    const early = verify(rawOf(client.certificatePem), [authority.pem], NOW)
    expect(early.ok ? '' : early.error.message).toContain('check the clock')
  })

  it('refuses server usage, an authority, and what is no certificate', () => {
    expect(codeOf(verify(rawOf(node.certificatePem), [authority.pem], LATER))).toBe('certificate_usage')
    expect(codeOf(verify(rawOf(authority.pem), [authority.pem], LATER))).toBe('certificate_is_authority')
    for (const bytes of [Buffer.alloc(0), Buffer.from('no'), Buffer.alloc(70_000, 0x30)]) {
      expect(codeOf(verify(bytes, [authority.pem], LATER))).toBe('certificate_invalid')
    }
  })

  it('accepts no certificate with a flipped bit', () => {
    const der = rawOf(client.certificatePem)
    fc.assert(
      fc.property(fc.nat(der.length * 8 - 1), (bit) => {
        const copy = Buffer.from(der)
        copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (0x80 >> (bit & 7))
        expect(verify(copy, [authority.pem], LATER).ok).toBe(false)
      }),
      { numRuns: 300 },
    )
  })
})

describe('verifyNodeCertificate', () => {
  it('returns what it is, and refuses the certificate of a client', () => {
    const options = { authorities: [authority.pem], now: LATER }
    expect(valueOf(verifyNodeCertificate(node.certificatePem, options))).toMatchObject({
      commonName: 'w1',
      dnsNames: ['w1', 'w1.example.com'],
      ipAddresses: ['10.0.0.1', '::1'],
      serial: node.serial,
      spkiFingerprint: spkiFingerprintOfKey(nodeKey),
    })
    expect(codeOf(verifyNodeCertificate(client.certificatePem, options))).toBe('certificate_usage')
    expect(codeOf(verifyNodeCertificate('', options))).toBe('pem_count')
  })
})

describe('signRenewal and verifyRenewal', () => {
  it.each<KeyAlgorithm>(['ec-p256', 'ed25519', 'rsa-2048'])(
    'prove the old key (%s), for this request only',
    async (algorithm) => {
      const key = await newKey(algorithm)
      const issued = await issueCertificate({
        profile: 'node-serving',
        publicKey: createPublicKey(key),
        subject: { commonName: 'w2' },
        dnsNames: ['w2'],
        ipAddresses: [],
        authority,
        now: NOW,
      })
      const fresh = await newKey()
      const { der } = valueOf(
        parseCsr(await createCsr({ key: fresh, commonName: 'w2', dnsNames: ['w2'], ipAddresses: [] })),
      )
      const signature = signRenewal(key, der)
      expect(verifyRenewal(issued.certificatePem, der, signature)).toBe(true)
      expect(verifyRenewal(issued.certificatePem, Buffer.concat([der, Buffer.from([0])]), signature)).toBe(
        false,
      )
      expect(verifyRenewal(node.certificatePem, der, signature)).toBe(false)
      expect(verifyRenewal(issued.certificatePem, der, signRenewal(fresh, der))).toBe(false)
      expect(verifyRenewal(issued.certificatePem, der, Buffer.alloc(0))).toBe(false)
      expect(verifyRenewal('no', der, signature)).toBe(false)
    },
  )
})

describe('renewalTime', () => {
  it('is at 50 to 60 percent of the life, whatever the jitter is (BR-047)', () => {
    const notBefore = NOW
    const notAfter = new Date(NOW.getTime() + 1000 * SECOND)
    const at = (jitter: number) =>
      (renewalTime({ notBefore, notAfter, jitter }).getTime() - NOW.getTime()) / SECOND
    expect([0, 0.5, 1, -1, 2, Number.NaN].map(at)).toEqual([500, 550, 600, 500, 600, 500])
  })
})

describe('an expired authority', () => {
  it('vouches for nobody', async () => {
    const short = await createAuthority({ commonName: 'short', now: NOW, lifetimeSeconds: 60 })
    const now = new Date(NOW.getTime() + 61 * SECOND)
    const options = { authorities: [short.certificatePem], now }
    expect(codeOf(verifyClientCertificate(rawOf(short.certificatePem), options))).toBe('certificate_expired')
  })
})
