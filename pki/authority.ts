/**
 * Holders of a CA key. Signing is one function, so that a key in an HSM or another process takes the place of one in memory.
 *
 * Invariants: an authority exists only when its certificate may sign certificates and its key is of that certificate; the key is not a field.
 */
import { createPublicKey, randomBytes, X509Certificate } from 'node:crypto'
import { buildCertificate, keyIdOf, readCertificate, type CertificateSigner } from './certificate.ts'
import { encodeSubject, isSubjectText } from './distinguished-name.ts'
import { attempt, must, PkiFault } from './fault.ts'
import { checkPublicKey, generateKey, loadPrivateKey, spkiOf, type KeyAlgorithm } from './key.ts'
import { encodePem, parseCertificatePem } from './pem.ts'
import { lifetimeOf, profiles } from './profile.ts'
import { err, type Result } from './result.ts'
import { signData } from './signature.ts'
import { wholeSeconds } from './time.ts'

export type AuthorityBundle = {
  readonly certificatePem: string
  /** PKCS #8. */
  readonly privateKeyPem: string
}

export type Authority = CertificateSigner & {
  readonly certificatePem: string
  readonly certificate: X509Certificate
  /** The subject as bytes, which an issuer name is a copy of. */
  readonly subjectDer: Buffer
  readonly keyId: Buffer
  readonly notBefore: Date
  readonly notAfter: Date
}

/** How far certificates are dated back, for peers whose clocks are slow. */
export const BACKDATE_SECONDS = 300

/** Returns a new self-signed authority. Rejects with PkiFault `subject_invalid`, `lifetime_invalid`. */
export async function createAuthority(input: {
  readonly commonName: string
  readonly algorithm?: KeyAlgorithm
  readonly now: Date
  /** 10 years when absent, 30 at most. */
  readonly lifetimeSeconds?: number
}): Promise<AuthorityBundle> {
  if (!isSubjectText(input.commonName)) throw new PkiFault('subject_invalid', 'the common name is not valid')
  const lifetime = lifetimeOf('node-ca', [], input.lifetimeSeconds)
  const pair = await generateKey(input.algorithm)
  const key = must(loadPrivateKey(pair.privateKeyPem))
  const publicKey = createPublicKey(key)
  const name = encodeSubject({ commonName: input.commonName, organizations: [] })
  const template = {
    profile: profiles['node-ca'],
    serial: randomBytes(16),
    issuer: name,
    subject: name,
    notBefore: wholeSeconds(new Date(input.now.getTime() - BACKDATE_SECONDS * 1000)),
    notAfter: wholeSeconds(new Date(input.now.getTime() + lifetime * 1000)),
    publicKey,
    authorityKeyId: keyIdOf(publicKey),
    dnsNames: [],
    ipAddresses: [],
  }
  const der = await buildCertificate(template, {
    algorithm: pair.algorithm,
    sign: async (data) => signData(key, data),
  })
  return { certificatePem: encodePem('CERTIFICATE', der), privateKeyPem: pair.privateKeyPem }
}

/** Returns the authority of a certificate and its key. Refuses with `authority_invalid`, `authority_mismatch` and the faults of keys and PEM. */
export function loadAuthority(bundle: AuthorityBundle): Result<Authority, PkiFault> {
  const key = loadPrivateKey(bundle.privateKeyPem)
  if (!key.ok) return err(key.error)
  return attempt('authority_invalid', 'the certificate of the authority cannot be read', () => {
    const authority = readAuthority(bundle.certificatePem, async (data) => signData(key.value, data))
    if (spkiOf(key.value).equals(spkiOf(authority.certificate.publicKey))) return authority
    throw new PkiFault('authority_mismatch', 'the certificate and the key of the authority are no pair')
  })
}

/** As `loadAuthority`, for a key that is somewhere else: `sign` returns a signature as node:crypto's `sign` makes it for this kind of key. */
export function openAuthority(
  certificatePem: string,
  sign: (data: Buffer) => Promise<Buffer>,
): Result<Authority, PkiFault> {
  return attempt('authority_invalid', 'the certificate of the authority cannot be read', () =>
    readAuthority(certificatePem, sign),
  )
}

function readAuthority(certificatePem: string, sign: (data: Buffer) => Promise<Buffer>): Authority {
  const der = must(parseCertificatePem(certificatePem))
  const certificate = new X509Certificate(der)
  const content = must(readCertificate(der))
  const algorithm = must(checkPublicKey(certificate.publicKey))
  const maySign = content.keyUsages.length === 0 || content.keyUsages.includes('keyCertSign')
  if (!certificate.ca || !maySign || content.hasUnknownCritical) {
    throw new PkiFault('authority_invalid', 'the certificate is not one of an authority that may sign')
  }
  const { subjectDer, notBefore, notAfter } = content
  const keyId = content.subjectKeyId ?? keyIdOf(certificate.publicKey)
  return {
    certificatePem: encodePem('CERTIFICATE', der),
    certificate,
    algorithm,
    sign,
    subjectDer,
    keyId,
    notBefore,
    notAfter,
  }
}
