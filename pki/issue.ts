/**
 * Issuing: choose a profile → build from the profile and named values → sign → validate what was made. Of a request only its public key gets
 * here, and names that `checkNodeRequest` granted; there is no way to hand a CSR to these functions.
 *
 * Invariants: a certificate never outlives its authority nor starts before it; serials are positive with 128 random bits (CA/Browser Forum
 * §7.1 wants 64); what leaves was verified against the authority by node:crypto.
 */
import { createPublicKey, randomBytes, X509Certificate, type KeyObject } from 'node:crypto'
import { BACKDATE_SECONDS, type Authority } from './authority.ts'
import { buildCertificate, formatSerial } from './certificate.ts'
import { positiveInteger } from './der.ts'
import { encodeSubject, isSubjectText, type Subject } from './distinguished-name.ts'
import { must, PkiFault } from './fault.ts'
import { certificateFingerprint, checkPublicKey, generateKey, type KeyAlgorithm } from './key.ts'
import { parseDnsName, parseIpAddress } from './name.ts'
import { encodePem } from './pem.ts'
import { lifetimeOf, profiles, type LeafProfileName } from './profile.ts'
import { wholeSeconds } from './time.ts'
import { encodeDer, readDer } from './x509-provider.ts'

export type IssueInput = {
  readonly profile: LeafProfileName
  readonly publicKey: KeyObject
  readonly subject: { readonly commonName: string }
  readonly dnsNames: readonly string[]
  readonly ipAddresses: readonly string[]
  /** Written as organizations; for the client profile only, which needs at least one. */
  readonly roles?: readonly string[]
  readonly authority: Authority
  readonly now: Date
  readonly lifetimeSeconds?: number
  /** Hexadecimal, positive, at most 159 bits; 128 random bits when absent. */
  readonly serial?: string
}

export type IssuedCertificate = {
  readonly certificatePem: string
  /** Lower-case hexadecimal. */
  readonly serial: string
  readonly notBefore: Date
  readonly notAfter: Date
  /** SHA-256 of the DER, lower-case hexadecimal. */
  readonly fingerprint: string
}

export type IssuedPair = IssuedCertificate & { readonly privateKeyPem: string }

/**
 * Returns a signed certificate. Rejects with PkiFault: the key's codes, `name_invalid`, `address_invalid`, `subject_invalid`, `names_not_allowed`,
 * `role_unknown`, `lifetime_invalid`, `serial_invalid`, `authority_not_valid`, `issue_failed`.
 */
export async function issueCertificate(input: IssueInput): Promise<IssuedCertificate> {
  must(checkPublicKey(input.publicKey))
  const names = checkNames(input)
  const subject = subjectOf(input, names.dnsNames)
  const validity = validityOf(input)
  const serial = input.serial === undefined ? randomSerial() : parseSerial(input.serial)
  const { authority } = input
  const template = {
    profile: profiles[input.profile],
    serial,
    issuer: readDer(authority.subjectDer),
    subject: encodeSubject(subject),
    publicKey: input.publicKey,
    authorityKeyId: authority.keyId,
    ...validity,
    ...names,
  }
  const der = await buildCertificate(template, authority)
  validate(der, authority)
  return {
    certificatePem: encodePem('CERTIFICATE', der),
    serial: formatSerial(serial),
    ...validity,
    fingerprint: certificateFingerprint(der),
  }
}

/** Returns a client certificate with a new key. Rejects as `issueCertificate` does. */
export async function issueAdminCertificate(input: {
  readonly authority: Authority
  readonly commonName: string
  readonly roles: readonly string[]
  readonly now: Date
  readonly lifetimeSeconds?: number
  readonly algorithm?: KeyAlgorithm
}): Promise<IssuedPair> {
  const { authority, roles, now, lifetimeSeconds } = input
  const pair = await generateKey(input.algorithm)
  const issued = await issueCertificate({
    profile: 'admin-client',
    publicKey: createPublicKey(pair.publicKeyPem),
    subject: { commonName: input.commonName },
    dnsNames: [],
    ipAddresses: [],
    roles,
    authority,
    now,
    ...(lifetimeSeconds === undefined ? {} : { lifetimeSeconds }),
  })
  return { ...issued, privateKeyPem: pair.privateKeyPem }
}

function checkNames(input: IssueInput): {
  readonly dnsNames: readonly string[]
  readonly ipAddresses: readonly string[]
} {
  const profile = profiles[input.profile]
  const dnsNames = input.dnsNames.map((name) => must(parseDnsName(name)))
  const ipAddresses = input.ipAddresses.map((ip) => must(parseIpAddress(ip)))
  const count = dnsNames.length + ipAddresses.length
  const roles = input.roles?.length ?? 0
  if ((profile.names === 'own') !== count > 0 || profile.roles !== roles > 0) {
    throw new PkiFault(
      'names_not_allowed',
      'a serving certificate has names and no roles, a client certificate roles and no names',
    )
  }
  return { dnsNames, ipAddresses }
}

function subjectOf(input: IssueInput, dnsNames: readonly string[]): Subject {
  const { commonName } = input.subject
  const organizations = [...new Set(input.roles ?? [])]
  if (isSubjectText(commonName)) return { commonName, organizations }
  // RFC 5280 has no room for a longer common name; a node is then named by its alternative names alone.
  if (profiles[input.profile].names === 'own' && dnsNames[0] === commonName) return { organizations }
  throw new PkiFault(
    'subject_invalid',
    'the common name is empty, longer than 64 characters or has control characters',
  )
}

function validityOf(input: IssueInput): { readonly notBefore: Date; readonly notAfter: Date } {
  const { authority, now } = input
  const lifetime = lifetimeOf(input.profile, input.roles ?? [], input.lifetimeSeconds)
  if (!(now >= authority.notBefore && now < authority.notAfter)) {
    throw new PkiFault('authority_not_valid', 'the authority is not valid at this time', {
      hint: 'check the clock of this machine, or replace the authority',
    })
  }
  const start = new Date(Math.max(now.getTime() - BACKDATE_SECONDS * 1000, authority.notBefore.getTime()))
  const end = new Date(Math.min(now.getTime() + lifetime * 1000, authority.notAfter.getTime()))
  return { notBefore: wholeSeconds(start), notAfter: wholeSeconds(end) }
}

function randomSerial(): Buffer {
  const serial = randomBytes(16)
  // A serial number is positive; zero comes once in 2^128.
  return serial.some((octet) => octet !== 0) ? serial : randomSerial()
}

function parseSerial(hex: string): Buffer {
  const serial = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')
  // 20 octets with the sign (RFC 5280 §4.1.2.2), and two for tag and length.
  const fits = encodeDer(positiveInteger(serial)).length <= 22
  if (/^[0-9a-f]+$/.test(hex) && fits && serial.some((octet) => octet !== 0)) return serial
  throw new PkiFault('serial_invalid', 'a serial number is positive hexadecimal of at most 20 octets')
}

/** The authority may be an HSM or another process: what it signed is believed only when it verifies. */
function validate(der: Buffer, authority: Authority): void {
  const made = new X509Certificate(der)
  if (made.verify(authority.certificate.publicKey) && made.checkIssued(authority.certificate)) return
  throw new PkiFault('issue_failed', 'the certificate does not verify against its authority')
}
