/**
 * Certificates in DER (RFC 5280): written from a profile, and read. Nothing here judges a chain; `verify.ts` asks node:crypto for that.
 */
import { createHash, type KeyObject } from 'node:crypto'
import {
  childrenOf,
  constructed,
  contentOf,
  contextTag,
  expectEnd,
  positiveInteger,
  primitive,
  sequence,
  smallIntegerOf,
  tags,
  wholeBits,
  wholeBitsOf,
} from './der.ts'
import { decodeSubject, type Subject } from './distinguished-name.ts'
import {
  decodeAltNames,
  decodeExtendedKeyUsages,
  decodeExtensions,
  decodeIsAuthority,
  decodeKeyUsages,
  encodeAltNames,
  encodeAuthorityKeyIdentifier,
  encodeBasicConstraints,
  encodeExtendedKeyUsages,
  encodeExtension,
  encodeKeyUsages,
  extensionOids,
  type AltNames,
  type Extension,
  type KeyUsage,
} from './extension.ts'
import { attempt, type PkiFault } from './fault.ts'
import { spkiOf, type KeyAlgorithm } from './key.ts'
import type { Profile } from './profile.ts'
import type { Result } from './result.ts'
import { signatureAlgorithmOf } from './signature.ts'
import { decodeTime, encodeTime } from './time.ts'
import { encodeDer, readDer, type Der } from './x509-provider.ts'

export type CertificateContent = {
  readonly der: Buffer
  /** Lower-case hexadecimal of the number, an even count of digits, no zero octets in front. */
  readonly serial: string
  readonly subject: Subject
  /** The subject as bytes: what an issuer name must be a copy of. */
  readonly subjectDer: Buffer
  readonly notBefore: Date
  readonly notAfter: Date
  readonly altNames: AltNames
  readonly keyUsages: readonly KeyUsage[]
  readonly extendedKeyUsages: readonly string[]
  readonly isAuthority: boolean
  readonly subjectKeyId: Buffer | undefined
  /** Whether an extension that must be understood is none of those that are (RFC 5280 §4.2). */
  readonly hasUnknownCritical: boolean
}

export type CertificateTemplate = {
  readonly profile: Profile
  /** Magnitude, big-endian. */
  readonly serial: Buffer
  readonly issuer: Der
  readonly subject: Der
  readonly notBefore: Date
  readonly notAfter: Date
  readonly publicKey: KeyObject
  readonly authorityKeyId: Buffer
  readonly dnsNames: readonly string[]
  readonly ipAddresses: readonly string[]
}

export type CertificateSigner = {
  readonly algorithm: KeyAlgorithm
  readonly sign: (data: Buffer) => Promise<Buffer>
}

/** Returns the DER of a certificate, signed. */
export async function buildCertificate(
  template: CertificateTemplate,
  signer: CertificateSigner,
): Promise<Buffer> {
  const algorithm = signatureAlgorithmOf(signer.algorithm)
  const body = sequence(
    constructed(contextTag(0, 'constructed'), [primitive(tags.integer, Buffer.from([2]))]),
    positiveInteger(template.serial),
    algorithm,
    template.issuer,
    sequence(encodeTime(template.notBefore), encodeTime(template.notAfter)),
    template.subject,
    readDer(spkiOf(template.publicKey)),
    constructed(contextTag(3, 'constructed'), [sequence(...extensionsOf(template))]),
  )
  const signature = await signer.sign(encodeDer(body))
  return encodeDer(sequence(body, algorithm, wholeBits(signature)))
}

/** Returns the key identifier of a key: the leftmost 160 bits of SHA-256 over the key bits (RFC 7093 §2, method 1). */
export function keyIdOf(key: KeyObject): Buffer {
  const bits = wholeBitsOf(childrenOf(readDer(spkiOf(key)), tags.sequence)[1])
  return createHash('sha256').update(bits).digest().subarray(0, 20)
}

/** Returns what a certificate says; nothing is verified. Refuses with `certificate_invalid`. */
export function readCertificate(der: Buffer): Result<CertificateContent, PkiFault> {
  return attempt('certificate_invalid', 'the certificate is not canonical X.509 version 3', () =>
    readContent(der),
  )
}

function readContent(der: Buffer): CertificateContent {
  const certificate = childrenOf(readDer(der), tags.sequence)
  expectEnd(certificate, 3)
  const [version, serial, , issuer, validity, subject, , ...rest] = childrenOf(certificate[0], tags.sequence)
  smallIntegerOf(childrenOf(version, contextTag(0, 'constructed'))[0])
  childrenOf(issuer, tags.sequence)
  const times = childrenOf(validity, tags.sequence)
  expectEnd(times, 2)
  expectEnd(rest, 1)
  const extensions = decodeExtensions(childrenOf(rest[0], contextTag(3, 'constructed'))[0])
  const known: readonly string[] = Object.values(extensionOids)
  return {
    der,
    serial: formatSerial(contentOf(serial, tags.integer)),
    subject: decodeSubject(subject),
    subjectDer: encodeDer(constructed(tags.sequence, childrenOf(subject, tags.sequence))),
    notBefore: decodeTime(times[0]),
    notAfter: decodeTime(times[1]),
    altNames: decodeAltNames(extensions.get(extensionOids.subjectAltName)),
    keyUsages: decodeKeyUsages(extensions.get(extensionOids.keyUsage)),
    extendedKeyUsages: decodeExtendedKeyUsages(extensions.get(extensionOids.extendedKeyUsage)),
    isAuthority: decodeIsAuthority(extensions.get(extensionOids.basicConstraints)),
    subjectKeyId: keyIdIn(extensions.get(extensionOids.subjectKeyIdentifier)),
    hasUnknownCritical: [...extensions.values()].some(({ id, critical }) => critical && !known.includes(id)),
  }
}

function keyIdIn(extension: Extension | undefined): Buffer | undefined {
  return extension === undefined ? undefined : contentOf(extension.value, tags.octetString)
}

/** Returns the serial number in the form that every part of Stele writes it in. */
export function formatSerial(octets: Buffer): string {
  const first = octets.findIndex((octet) => octet !== 0)
  return octets.subarray(first === -1 ? octets.length - 1 : first).toString('hex')
}

function extensionsOf(template: CertificateTemplate): readonly Der[] {
  const { profile, dnsNames, ipAddresses } = template
  const usages = profile.extendedKeyUsages
  const hasNames = dnsNames.length + ipAddresses.length > 0
  // An empty subject makes the alternative names the only name, which must then be critical (RFC 5280 §4.2.1.6).
  const isSubjectEmpty = template.subject.kind === 'constructed' && template.subject.children.length === 0
  const keyId = primitive(tags.octetString, keyIdOf(template.publicKey))
  return [
    encodeExtension(extensionOids.basicConstraints, encodeBasicConstraints(profile.isAuthority), true),
    encodeExtension(extensionOids.keyUsage, encodeKeyUsages(profile.keyUsages), true),
    ...(usages.length > 0
      ? [encodeExtension(extensionOids.extendedKeyUsage, encodeExtendedKeyUsages(usages))]
      : []),
    encodeExtension(extensionOids.subjectKeyIdentifier, keyId),
    encodeExtension(
      extensionOids.authorityKeyIdentifier,
      encodeAuthorityKeyIdentifier(template.authorityKeyId),
    ),
    ...(hasNames
      ? [encodeExtension(extensionOids.subjectAltName, encodeAltNames(dnsNames, ipAddresses), isSubjectEmpty)]
      : []),
  ]
}
