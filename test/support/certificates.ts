/** Authorities and certificates for tests, made by the PKI itself; the malformed ones by openssl, which signs what the PKI refuses to. */
import { execFileSync } from 'node:child_process'
import { createPublicKey } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  createAuthority,
  generateKey,
  issueAdminCertificate,
  issueCertificate,
  loadAuthority,
  type Authority,
  type AuthorityBundle,
} from '#pki'

export type TestAuthority = { readonly bundle: AuthorityBundle; readonly authority: Authority }
export type TestPair = { readonly certificate: string; readonly privateKey: string }

export const DAY_MS = 24 * 3600 * 1000

export async function makeAuthority(commonName = 'test node CA', now = new Date()): Promise<TestAuthority> {
  // Older than its leaves, so that tests can have some that have expired.
  const bundle = await createAuthority({ commonName, now: new Date(now.getTime() - DAY_MS) })
  const loaded = loadAuthority(bundle)
  if (!loaded.ok) throw loaded.error
  return { bundle, authority: loaded.value }
}

export async function makeClient(
  from: TestAuthority,
  options: {
    readonly commonName?: string
    readonly roles?: readonly string[]
    readonly now?: Date
    readonly lifetimeSeconds?: number
  } = {},
): Promise<TestPair> {
  const issued = await issueAdminCertificate({
    authority: from.authority,
    commonName: options.commonName ?? 'alice',
    roles: options.roles ?? ['stele:admin'],
    now: options.now ?? new Date(),
    ...(options.lifetimeSeconds === undefined ? {} : { lifetimeSeconds: options.lifetimeSeconds }),
  })
  return { certificate: issued.certificatePem, privateKey: issued.privateKeyPem }
}

export async function makeServer(
  from: TestAuthority,
  options: { readonly name?: string; readonly addresses?: readonly string[]; readonly now?: Date } = {},
): Promise<TestPair> {
  const pair = await generateKey()
  const name = options.name ?? 'cp-1'
  const issued = await issueCertificate({
    profile: 'node-serving',
    publicKey: createPublicKey(pair.publicKeyPem),
    subject: { commonName: name },
    dnsNames: [name],
    ipAddresses: options.addresses ?? ['127.0.0.1', '127.0.0.2', '::1'],
    authority: from.authority,
    now: options.now ?? new Date(),
  })
  return { certificate: issued.certificatePem, privateKey: pair.privateKeyPem }
}

/** A client certificate with any organizations, signed by openssl: for roles that the PKI would not write. */
export function makeOddClient(from: TestAuthority, subject: string, usage = 'clientAuth'): TestPair {
  const directory = mkdtempSync(join(tmpdir(), 'stele-certificate-'))
  const file = (name: string) => join(directory, name)
  try {
    writeFileSync(file('ca.pem'), from.bundle.certificatePem)
    writeFileSync(file('ca.key'), from.bundle.privateKeyPem, { mode: 0o600 })
    writeFileSync(file('ext'), `extendedKeyUsage=${usage}\nbasicConstraints=critical,CA:FALSE\n`)
    const openssl = (...arguments_: string[]) =>
      execFileSync('openssl', arguments_, { cwd: directory, stdio: 'pipe' })
    openssl('genpkey', '-algorithm', 'ED25519', '-out', 'key')
    openssl('req', '-new', '-key', 'key', '-subj', subject, '-out', 'csr')
    openssl(
      'x509',
      '-req',
      '-in',
      'csr',
      '-CA',
      'ca.pem',
      '-CAkey',
      'ca.key',
      '-days',
      '1',
      '-extfile',
      'ext',
      '-out',
      'crt',
    )
    return { certificate: readFileSync(file('crt'), 'utf8'), privateKey: readFileSync(file('key'), 'utf8') }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** The text of an identity file, as core publishes it. */
export function identityText(pair: TestPair, authorities: readonly string[], node = 'cp-1'): string {
  return JSON.stringify({ version: 1, node, ...pair, authorities })
}
