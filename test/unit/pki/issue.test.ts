import { createPublicKey, X509Certificate } from 'node:crypto'
import { checkServerIdentity } from 'node:tls'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { readCertificate } from '../../../pki/certificate.ts'
import { childrenOf, tags } from '../../../pki/der.ts'
import {
  createAuthority,
  issueAdminCertificate,
  issueCertificate,
  loadAuthority,
  openAuthority,
  type IssueInput,
} from '../../../pki/index.ts'
import { encodeDer, readDer } from '../../../pki/x509-provider.ts'
import { DAY, newAuthority, newKey, NOW, SECOND, valueOf } from './build.ts'

let authority: Awaited<ReturnType<typeof newAuthority>>
let publicKey: IssueInput['publicKey']

beforeAll(async () => {
  authority = await newAuthority()
  publicKey = createPublicKey(await newKey('ed25519'))
})

function issue(change: Partial<IssueInput> = {}) {
  return issueCertificate({
    profile: 'node-serving',
    publicKey,
    subject: { commonName: 'w1' },
    dnsNames: ['w1'],
    ipAddresses: ['10.0.0.1'],
    authority,
    now: NOW,
    ...change,
  })
}

const admin: Partial<IssueInput> = {
  profile: 'admin-client',
  dnsNames: [],
  ipAddresses: [],
  roles: ['stele:reader'],
}
const contentOf = (pem: string) => valueOf(readCertificate(new X509Certificate(pem).raw))

describe('issueCertificate', () => {
  it('gives a node its names, server usage and nothing more', async () => {
    const issued = await issue()
    expect(contentOf(issued.certificatePem)).toMatchObject({
      subject: { commonName: 'w1', organizations: [] },
      altNames: { dnsNames: ['w1'], ipAddresses: ['10.0.0.1'], otherNames: 0 },
      keyUsages: ['digitalSignature'],
      extendedKeyUsages: ['serverAuth'],
      isAuthority: false,
      serial: issued.serial,
      notBefore: issued.notBefore,
      notAfter: issued.notAfter,
    })
    expect(issued.notAfter).toEqual(new Date(NOW.getTime() + DAY))
  })

  it('gives an admin roles, client usage and no names', async () => {
    const issued = await issueAdminCertificate({
      authority,
      commonName: 'Zoë',
      roles: ['stele:admin', 'stele:reader'],
      now: NOW,
    })
    expect(contentOf(issued.certificatePem)).toMatchObject({
      subject: { commonName: 'Zoë', organizations: ['stele:admin', 'stele:reader'] },
      altNames: { dnsNames: [], ipAddresses: [] },
      extendedKeyUsages: ['clientAuth'],
    })
    expect(issued.notAfter).toEqual(new Date(NOW.getTime() + DAY / 2))
    const own = createPublicKey(issued.privateKeyPem).export({ type: 'spki', format: 'pem' })
    expect(new X509Certificate(issued.certificatePem).publicKey.export({ type: 'spki', format: 'pem' })).toBe(
      own,
    )
  })

  it('dates back 5 minutes, but not before the authority starts (BR-045)', async () => {
    expect((await issue()).notBefore).toEqual(authority.notBefore)
    const later = new Date(NOW.getTime() + DAY)
    expect((await issue({ now: later })).notBefore).toEqual(new Date(later.getTime() - 300 * SECOND))
  })

  it('never outlives its authority, and is refused when that is not valid', async () => {
    const end = authority.notAfter.getTime()
    expect((await issue({ now: new Date(end - SECOND) })).notAfter).toEqual(authority.notAfter)
    await expect(issue({ now: new Date(end) })).rejects.toMatchObject({ code: 'authority_not_valid' })
    const before = new Date(authority.notBefore.getTime() - SECOND)
    await expect(issue({ now: before })).rejects.toMatchObject({ code: 'authority_not_valid' })
  })

  it('writes 4 or 16 octets for each address, duplicates once, and clients find each literal (BR-034)', async () => {
    const literals = ['192.0.2.7', '2001:db8::7', '::1', '::ffff:192.0.2.7']
    const issued = await issue({ ipAddresses: [...literals, '2001:DB8:0:0:0:0:0:7', '192.0.2.7'] })
    const certificate = new X509Certificate(issued.certificatePem)
    expect(contentOf(issued.certificatePem).altNames.ipAddresses).toEqual(literals)
    for (const literal of literals) expect(certificate.checkIP(literal)).toBe(literal)
    const legacy = certificate.toLegacyObject()
    expect(checkServerIdentity('2001:db8:0::7', legacy)).toBeUndefined()
    expect(checkServerIdentity('10.9.9.9', legacy)).toBeInstanceOf(Error)
    for (const bad of ['fe80::1%eth0', '192.0.2.007']) {
      await expect(issue({ ipAddresses: [bad] })).rejects.toMatchObject({ code: 'address_invalid' })
    }
  })

  it('leaves a common name above 64 characters out and makes the names critical; refuses it for clients (BR-033)', async () => {
    const long = `${'w'.repeat(60)}.${'x'.repeat(60)}`
    const issued = await issue({ subject: { commonName: long }, dnsNames: [long] })
    const content = contentOf(issued.certificatePem)
    expect([content.subject, content.altNames.dnsNames]).toEqual([{ organizations: [] }, [long]])
    await expect(issue({ ...admin, subject: { commonName: 'x'.repeat(65) } })).rejects.toMatchObject({
      code: 'subject_invalid',
    })
    await expect(issue({ ...admin, subject: { commonName: 'a\nb' } })).rejects.toMatchObject({
      code: 'subject_invalid',
    })
    await expect(issue({ ...admin, subject: { commonName: '' } })).rejects.toMatchObject({
      code: 'subject_invalid',
    })
  })

  it.each<[string, Partial<IssueInput>, string]>([
    ['roles on a node', { roles: ['stele:admin'] }, 'names_not_allowed'],
    ['a node without names', { dnsNames: [], ipAddresses: [] }, 'names_not_allowed'],
    ['names on a client', { ...admin, dnsNames: ['w1'] }, 'names_not_allowed'],
    ['a client without roles', { ...admin, roles: [] }, 'names_not_allowed'],
    ['an unknown role', { ...admin, roles: ['os:admin'] }, 'role_unknown'],
    ['a role that is a property of objects', { ...admin, roles: ['toString'] }, 'role_unknown'],
    ['a wildcard', { dnsNames: ['*.x'] }, 'name_invalid'],
    ['a longer life than the cap', { lifetimeSeconds: 8 * 86_400 }, 'lifetime_invalid'],
    ['no life', { lifetimeSeconds: 0 }, 'lifetime_invalid'],
    ['a life that is no number', { lifetimeSeconds: Number.NaN }, 'lifetime_invalid'],
    ['serial zero', { serial: '00' }, 'serial_invalid'],
    ['a serial of 21 octets', { serial: 'ff'.repeat(20) }, 'serial_invalid'],
    ['a serial that is no number', { serial: '-1' }, 'serial_invalid'],
  ])('refuses %s', async (_what, change, code) => {
    await expect(issue(change)).rejects.toMatchObject({ code })
  })

  it('writes serials as node:crypto reads them: positive, at most 20 octets, random', async () => {
    const serials = await Promise.all(Array.from({ length: 50 }, async () => (await issue()).serial))
    expect(new Set(serials).size).toBe(50)
    const digits = fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: 1, maxLength: 38 })
    await fc.assert(
      fc.asyncProperty(digits, async (serial) => {
        fc.pre(!/^0+$/.test(serial))
        const issued = await issue({ serial })
        const read = new X509Certificate(issued.certificatePem).serialNumber
        expect([BigInt(`0x${read}`), read.toLowerCase()]).toEqual([BigInt(`0x${serial}`), issued.serial])
      }),
      { numRuns: 60 },
    )
  })

  it('copies the issuer name as bytes (BR-032)', async () => {
    const issued = await issue()
    const body = childrenOf(
      childrenOf(readDer(new X509Certificate(issued.certificatePem).raw), tags.sequence)[0],
      tags.sequence,
    )
    expect(encodeDer(body[3]!).equals(authority.subjectDer)).toBe(true)
  })

  it('lets nothing out that the authority did not sign rightly', async () => {
    const broken = valueOf(openAuthority(authority.pem, async () => Buffer.alloc(70, 1)))
    await expect(issue({ authority: broken })).rejects.toMatchObject({ code: 'issue_failed' })
  })
})

describe('createAuthority', () => {
  it.each([
    ['2049-12-31T23:59:59Z', tags.utcTime, '491231235959Z'],
    ['2050-01-01T00:00:00Z', tags.generalizedTime, '20500101000000Z'],
  ])('writes an end at %s in the form of its year (BR-036)', async (end, tag, text) => {
    const now = new Date('2040-01-01T00:00:00.789Z')
    const lifetimeSeconds = Math.ceil((Date.parse(end) - now.getTime()) / SECOND)
    const { certificatePem } = await createAuthority({
      commonName: 'ca',
      now: new Date('2040-01-01T00:00:00Z'),
      lifetimeSeconds,
    })
    const body = childrenOf(
      childrenOf(readDer(new X509Certificate(certificatePem).raw), tags.sequence)[0],
      tags.sequence,
    )
    const written = childrenOf(body[4], tags.sequence)[1]
    expect(written).toEqual({ kind: 'primitive', tag, content: Buffer.from(text) })
    expect(contentOf(certificatePem).notAfter).toEqual(new Date(end))
  })

  it('refuses a subject above 64 characters and a life above 30 years', async () => {
    await expect(createAuthority({ commonName: 'c'.repeat(65), now: NOW })).rejects.toMatchObject({
      code: 'subject_invalid',
    })
    const lifetimeSeconds = 31 * 365 * 86_400
    await expect(createAuthority({ commonName: 'ca', now: NOW, lifetimeSeconds })).rejects.toMatchObject({
      code: 'lifetime_invalid',
    })
  })
})

describe('loadAuthority', () => {
  it('refuses a key that is not its pair, a leaf, and what is no PEM', async () => {
    const one = await createAuthority({ commonName: 'one', now: NOW })
    const two = await createAuthority({ commonName: 'two', now: NOW })
    const leaf = await issueAdminCertificate({ authority, commonName: 'a', roles: ['stele:admin'], now: NOW })
    expect(loadAuthority({ ...one, privateKeyPem: two.privateKeyPem })).toMatchObject({
      error: { code: 'authority_mismatch' },
    })
    expect(loadAuthority(leaf)).toMatchObject({ error: { code: 'authority_invalid' } })
    expect(loadAuthority({ ...one, certificatePem: 'x' })).toMatchObject({ error: { code: 'pem_count' } })
    expect(loadAuthority({ ...one, certificatePem: one.certificatePem + two.certificatePem })).toMatchObject({
      error: { code: 'pem_count' },
    })
  })

  it('keeps its key out of everything that prints it', async () => {
    const bundle = await createAuthority({ commonName: 'one', now: NOW })
    const loaded = valueOf(loadAuthority(bundle))
    expect(JSON.stringify(loaded)).not.toContain(bundle.privateKeyPem.split('\n')[1])
  })
})
