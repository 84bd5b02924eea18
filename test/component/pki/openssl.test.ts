/** What we write, read by the real OpenSSL; what OpenSSL writes, read by us. */
import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  createAuthority,
  createCsr,
  generateKey,
  issueAdminCertificate,
  issueCertificate,
  loadAuthority,
  parseCsr,
  verifyNodeCertificate,
  type KeyAlgorithm,
} from '../../../pki/index.ts'
import { valueOf } from '../../unit/pki/build.ts'

const run = promisify(execFile)
const algorithms: readonly KeyAlgorithm[] = ['ec-p256', 'ed25519', 'rsa-2048']
const pairs = algorithms.flatMap((ca) => algorithms.map((leaf) => [ca, leaf] as const))
const DEADLINE_MS = 20_000
let directory = ''
let count = 0

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'pki-openssl-'))
})
afterAll(async () => {
  await rm(directory, { recursive: true, force: true })
})

async function file(text: string): Promise<string> {
  count += 1
  const path = join(directory, `${count}.pem`)
  await writeFile(path, text)
  return path
}

async function openssl(...words: string[]): Promise<string> {
  const { stdout, stderr } = await run('openssl', words, { cwd: directory, timeout: DEADLINE_MS })
  return stdout + stderr
}

describe('openssl verify -x509_strict', () => {
  it.each(pairs)('accepts what an authority of %s issues for a key of %s', async (ca, leaf) => {
    const bundle = await createAuthority({ commonName: 'Zürich CA', algorithm: ca, now: new Date() })
    const authority = valueOf(loadAuthority(bundle))
    const pair = await generateKey(leaf)
    const long = `${'w'.repeat(60)}.${'x'.repeat(60)}`
    const serving = (name: string) =>
      issueCertificate({
        profile: 'node-serving',
        publicKey: createPublicKey(pair.publicKeyPem),
        subject: { commonName: name },
        dnsNames: [name],
        ipAddresses: ['192.0.2.7', '2001:db8::7', '::ffff:192.0.2.7'],
        authority,
        now: new Date(),
      })
    const admin = await issueAdminCertificate({
      authority,
      commonName: 'Zoë',
      roles: ['stele:admin'],
      now: new Date(),
      algorithm: leaf,
    })
    const anchor = await file(bundle.certificatePem)
    const verify = (purpose: string, ...rest: string[]) =>
      openssl(
        'verify',
        '-x509_strict',
        '-check_ss_sig',
        '-policy_check',
        '-purpose',
        purpose,
        '-CAfile',
        anchor,
        ...rest,
      )
    const node = await file((await serving('worker-1')).certificatePem)
    expect(await verify('sslserver', '-verify_hostname', 'worker-1', node)).toContain(': OK')
    expect(await verify('sslserver', '-verify_ip', '2001:db8::7', node)).toContain(': OK')
    expect(await verify('sslserver', await file((await serving(long)).certificatePem))).toContain(': OK')
    const client = await file(admin.certificatePem)
    expect(await verify('sslclient', client)).toContain(': OK')
    await expect(verify('sslserver', client)).rejects.toThrow()
    await expect(verify('sslclient', node)).rejects.toThrow()
    await expect(verify('sslserver', '-verify_hostname', 'worker-2', node)).rejects.toThrow()
  })
})

describe('openssl req', () => {
  it.each(algorithms)('-verify accepts our request with a key of %s', async (algorithm) => {
    const key = createPrivateKey((await generateKey(algorithm)).privateKeyPem)
    const csr = await createCsr({
      key,
      commonName: 'w1',
      dnsNames: ['w1', 'w1.example.com'],
      ipAddresses: ['10.0.0.1', '::1'],
    })
    const text = await openssl('req', '-verify', '-noout', '-text', '-in', await file(csr))
    expect(text).toMatch(/verify OK/)
    expect(text).toContain('DNS:w1, DNS:w1.example.com, IP Address:10.0.0.1, IP Address:0:0:0:0:0:0:0:1')
  })

  it.each([
    ['EC', 'ec_paramgen_curve:P-256'],
    ['ED25519', undefined],
    ['RSA', 'rsa_keygen_bits:3072'],
  ])('makes requests with a key of %s that we read', async (kind, option) => {
    const key = await file('')
    await openssl(
      'genpkey',
      '-algorithm',
      kind,
      '-out',
      key,
      ...(option === undefined ? [] : ['-pkeyopt', option]),
    )
    const extensions = [
      '-addext',
      'subjectAltName=DNS:w1,IP:10.0.0.1,IP:2001:db8::7,URI:x:y',
      '-addext',
      'extendedKeyUsage=serverAuth',
    ]
    const pem = await openssl(
      'req',
      '-new',
      '-key',
      key,
      '-subj',
      '/O=stele:admin/CN=w1',
      ...extensions,
      '-addext',
      'basicConstraints=CA:TRUE',
    )
    expect(valueOf(parseCsr(pem))).toMatchObject({
      subject: { commonName: 'w1', organizations: ['stele:admin'] },
      dnsNames: ['w1'],
      ipAddresses: ['10.0.0.1', '2001:db8::7'],
      otherNames: 1,
      requestedExtendedKeyUsages: ['serverAuth'],
      requestsCa: true,
    })
  })
})

describe('an authority that OpenSSL made', () => {
  it.each([
    ['UTF8String', 'utf8only', '/O=t/CN=Zürich CA'],
    ['PrintableString', 'default', '/O=t/CN=Plain CA'],
  ])('with a subject of %s signs leaves that verify (BR-032)', async (type, mask, subject) => {
    const config = await file(`[req]\ndistinguished_name=dn\nstring_mask=${mask}\nutf8=yes\n[dn]\n`)
    const pair = await generateKey()
    const key = await file(pair.privateKeyPem)
    const common = [
      'req',
      '-x509',
      '-new',
      '-utf8',
      '-config',
      config,
      '-key',
      key,
      '-subj',
      subject,
      '-days',
      '9',
    ]
    const usage = ['-addext', 'basicConstraints=critical,CA:TRUE', '-addext', 'keyUsage=critical,keyCertSign']
    const certificatePem = await openssl(...common, ...usage)
    expect(await openssl('asn1parse', '-in', await file(certificatePem))).toContain(type.toUpperCase())
    const authority = valueOf(loadAuthority({ certificatePem, privateKeyPem: pair.privateKeyPem }))
    const issued = await issueCertificate({
      profile: 'node-serving',
      publicKey: createPublicKey((await generateKey()).publicKeyPem),
      subject: { commonName: 'w1' },
      dnsNames: ['w1'],
      ipAddresses: [],
      authority,
      now: new Date(),
    })
    const anchor = await file(certificatePem)
    expect(
      await openssl('verify', '-x509_strict', '-CAfile', anchor, await file(issued.certificatePem)),
    ).toContain(': OK')
    expect(new X509Certificate(issued.certificatePem).checkIssued(authority.certificate)).toBe(true)
    expect(
      valueOf(
        verifyNodeCertificate(issued.certificatePem, { authorities: [certificatePem], now: new Date() }),
      ).commonName,
    ).toBe('w1')
  })
})
