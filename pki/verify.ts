/**
 * Certificates at rest: is it of one of our authorities, is it its time, is it for this use. node:crypto (OpenSSL) checks the signature and who
 * issued it; on the wire node:tls decides, and this comes on top.
 *
 * Invariants: an empty list of authorities trusts nobody; the four answers (untrusted, not yet, expired, other use) are never mixed up; the
 * signature is checked before anything else the certificate says is used.
 */
import { createHash, X509Certificate, type KeyObject } from 'node:crypto'
import { readCertificate, type CertificateContent } from './certificate.ts'
import type { ExtendedKeyUsage } from './extension.ts'
import { attempt, must, PkiFault, refuse } from './fault.ts'
import { certificateFingerprint, checkPublicKey, spkiFingerprintOfKey } from './key.ts'
import { parseCertificatePem, splitCertificates } from './pem.ts'
import { ok, type Result } from './result.ts'
import { signData, verifyData } from './signature.ts'

export type VerifyOptions = {
  /** PEM, each with one certificate or more. */
  readonly authorities: readonly string[]
  readonly now: Date
}

export type VerifiedClient = {
  readonly commonName: string
  /** The organizations of the subject. */
  readonly roles: readonly string[]
  /** Lower-case hexadecimal. */
  readonly serial: string
  readonly fingerprint: string
  readonly notAfter: Date
}

export type VerifiedNode = {
  /** The first DNS name when the subject is empty. */
  readonly commonName: string
  readonly dnsNames: readonly string[]
  readonly ipAddresses: readonly string[]
  readonly serial: string
  readonly fingerprint: string
  readonly spkiFingerprint: string
  readonly publicKey: KeyObject
  readonly notAfter: Date
}

type Verified = {
  readonly content: CertificateContent
  readonly publicKey: KeyObject
  readonly fingerprint: string
}

const RENEWAL_CONTEXT = 'stele.agent.v1 renew\0'

/**
 * Returns who holds a client certificate. Refuses with `certificate_invalid`, `certificate_untrusted`, `certificate_not_yet_valid`,
 * `certificate_expired`, `certificate_usage`, `certificate_is_authority`, `certificate_name`.
 */
export function verifyClientCertificate(
  der: Buffer,
  options: VerifyOptions,
): Result<VerifiedClient, PkiFault> {
  const verified = verifyLeaf(der, 'clientAuth', options)
  if (!verified.ok) return verified
  const { content, fingerprint } = verified.value
  const { commonName, organizations } = content.subject
  if (commonName === undefined || commonName === '')
    return refuse('certificate_name', 'the certificate names nobody')
  return ok({
    commonName,
    roles: organizations,
    serial: content.serial,
    fingerprint,
    notAfter: content.notAfter,
  })
}

/** Returns what a node's serving certificate says. Refuses as `verifyClientCertificate` does, and with the faults of PEM. */
export function verifyNodeCertificate(pem: string, options: VerifyOptions): Result<VerifiedNode, PkiFault> {
  const der = parseCertificatePem(pem)
  if (!der.ok) return der
  const verified = verifyLeaf(der.value, 'serverAuth', options)
  if (!verified.ok) return verified
  const { content, fingerprint, publicKey } = verified.value
  const { dnsNames, ipAddresses } = content.altNames
  const commonName = content.subject.commonName ?? dnsNames[0]
  if (commonName === undefined) return refuse('certificate_name', 'the certificate names no node')
  return ok({
    commonName,
    dnsNames,
    ipAddresses,
    serial: content.serial,
    fingerprint,
    spkiFingerprint: spkiFingerprintOfKey(publicKey),
    publicKey,
    notAfter: content.notAfter,
  })
}

/**
 * Returns the proof that the holder of the old key asks for a renewal: its signature over SHA-256 of `stele.agent.v1 renew`, a zero octet and the
 * DER of the request. The text in front keeps the signature from meaning something in another protocol.
 */
export function signRenewal(privateKey: KeyObject, csrDer: Buffer): Buffer {
  return signData(privateKey, renewalDigest(csrDer))
}

/** Whether `signature` is such a proof by the key of `certificatePem`; false for whatever cannot be read. Never throws. */
export function verifyRenewal(certificatePem: string, csrDer: Buffer, signature: Buffer): boolean {
  const der = parseCertificatePem(certificatePem)
  if (!der.ok) return false
  const verdict = attempt('certificate_invalid', 'the certificate cannot be read', () => {
    const { publicKey } = new X509Certificate(der.value)
    return checkPublicKey(publicKey).ok && verifyData(publicKey, renewalDigest(csrDer), signature)
  })
  return verdict.ok && verdict.value
}

function renewalDigest(csrDer: Buffer): Buffer {
  return createHash('sha256').update(RENEWAL_CONTEXT).update(csrDer).digest()
}

function verifyLeaf(
  der: Buffer,
  usage: ExtendedKeyUsage,
  options: VerifyOptions,
): Result<Verified, PkiFault> {
  return attempt('certificate_invalid', 'the certificate cannot be read', () => {
    const content = must(readCertificate(der))
    const certificate = new X509Certificate(der)
    checkIssuer(certificate, options)
    checkTime(content, options.now)
    checkUse(certificate, content, usage)
    const { publicKey } = certificate
    must(checkPublicKey(publicKey))
    return { content, publicKey, fingerprint: certificateFingerprint(der) }
  })
}

function checkIssuer(certificate: X509Certificate, options: VerifyOptions): void {
  const issuers = options.authorities.flatMap(readAuthorities).filter((authority) => {
    return authority.ca && certificate.checkIssued(authority) && certificate.verify(authority.publicKey)
  })
  if (issuers.length === 0) {
    throw new PkiFault('certificate_untrusted', 'the certificate is of none of the trusted authorities')
  }
  // A leaf of ours never outlives its authority; one made elsewhere might.
  if (issuers.every((authority) => options.now > new Date(authority.validTo))) {
    throw new PkiFault('certificate_expired', 'the authority of the certificate has expired')
  }
}

/** An authority that cannot be read vouches for nobody, and does not take the others down with it. */
function readAuthorities(pem: string): readonly X509Certificate[] {
  const split = splitCertificates(pem)
  if (!split.ok) return []
  return split.value.flatMap((text) => {
    const read = attempt(
      'certificate_invalid',
      'the authority cannot be read',
      () => new X509Certificate(text),
    )
    return read.ok ? [read.value] : []
  })
}

function checkTime(content: CertificateContent, now: Date): void {
  if (now < content.notBefore) {
    throw new PkiFault('certificate_not_yet_valid', 'the certificate is not valid yet: check the clock', {
      hint: 'compare the clocks of this machine and of the one that issued the certificate',
    })
  }
  if (now <= content.notAfter) return
  throw new PkiFault('certificate_expired', 'the certificate has expired', {
    hint: 'issue a new certificate',
  })
}

function checkUse(certificate: X509Certificate, content: CertificateContent, usage: ExtendedKeyUsage): void {
  if (certificate.ca || content.isAuthority) {
    throw new PkiFault('certificate_is_authority', 'the certificate of an authority neither calls nor serves')
  }
  if (content.hasUnknownCritical) {
    throw new PkiFault(
      'certificate_invalid',
      'the certificate has a critical extension that is not known here',
    )
  }
  if (!content.extendedKeyUsages.includes(usage)) {
    throw new PkiFault(
      'certificate_usage',
      `the certificate is not for ${usage === 'clientAuth' ? 'clients' : 'servers'}`,
    )
  }
}
