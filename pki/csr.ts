/**
 * Certificate requests (PKCS #10, RFC 2986): parsed and signature-checked. Nothing in the result is trusted but the key; the rest is what the
 * sender asks for, and `profile.ts` decides about it.
 *
 * Invariants: size is capped before anything is parsed; the DER is canonical; no single flipped bit is accepted.
 */
import { createPublicKey, type KeyObject } from 'node:crypto'
import {
  childrenOf,
  constructed,
  contextTag,
  expectEnd,
  oid,
  oidOf,
  primitive,
  sequence,
  smallIntegerOf,
  tags,
  wholeBits,
  wholeBitsOf,
} from './der.ts'
import { decodeSubject, encodeSubject, isSubjectText, type Subject } from './distinguished-name.ts'
import {
  decodeAltNames,
  decodeExtendedKeyUsages,
  decodeExtensions,
  decodeIsAuthority,
  decodeKeyUsages,
  encodeAltNames,
  encodeExtension,
  extensionOids,
  type Extension,
  type KeyUsage,
} from './extension.ts'
import { attempt, must, PkiFault, refuse } from './fault.ts'
import { checkPublicKey, spkiFingerprintOfKey, spkiOf, type KeyAlgorithm } from './key.ts'
import { parseDnsName, parseIpAddress, type IpAddress } from './name.ts'
import { encodePem, parsePem } from './pem.ts'
import { err, type Result } from './result.ts'
import { signatureAlgorithmOf, signData, verifyNamed } from './signature.ts'
import { encodeDer, readDer, type Der } from './x509-provider.ts'

export type ParsedCsr = {
  readonly subject: Subject
  /** As written: upper case and wildcards included. */
  readonly dnsNames: readonly string[]
  readonly ipAddresses: readonly IpAddress[]
  /** How many names of other kinds are asked for: URI, e-mail and the rest. */
  readonly otherNames: number
  /** Names where known, else dotted identifiers; sorted, each once. Empty when the request states none. */
  readonly requestedExtendedKeyUsages: readonly string[]
  readonly requestedKeyUsages: readonly KeyUsage[]
  readonly requestsCa: boolean
  readonly publicKey: KeyObject
  readonly keyAlgorithm: KeyAlgorithm
  readonly der: Buffer
  readonly spkiFingerprint: string
}

export type CsrInput = {
  readonly key: KeyObject
  readonly commonName: string
  readonly dnsNames: readonly string[]
  readonly ipAddresses: readonly string[]
  readonly organizations?: readonly string[]
}

export const MAX_CSR_BYTES = 8 * 1024
const EXTENSION_REQUEST = '1.2.840.113549.1.9.14'

/**
 * Returns a request in PEM, signed by `key`. A common name above 64 characters is left out of the subject (RFC 5280 has no room for it) and
 * must be the first DNS name. Rejects with PkiFault `subject_invalid`, `name_invalid`, `address_invalid` or what `checkPublicKey` refuses with.
 */
export async function createCsr(input: CsrInput): Promise<string> {
  const publicKey = createPublicKey(input.key)
  const algorithm = must(checkPublicKey(publicKey))
  const dnsNames = input.dnsNames.map((name) => must(parseDnsName(name)))
  const ipAddresses = input.ipAddresses.map((ip) => must(parseIpAddress(ip)))
  const info = sequence(
    primitive(tags.integer, Buffer.from([0])),
    encodeSubject(subjectOf(input)),
    readDer(spkiOf(publicKey)),
    constructed(contextTag(0, 'constructed'), extensionRequest(encodeAltNames(dnsNames, ipAddresses))),
  )
  const signature = signData(input.key, encodeDer(info))
  return encodePem(
    'CERTIFICATE REQUEST',
    encodeDer(sequence(info, signatureAlgorithmOf(algorithm), wholeBits(signature))),
  )
}

/**
 * Returns what a request asks for, after its signature and key were checked. Refuses with `csr_too_large`, `csr_count`, `csr_invalid`,
 * `csr_algorithm`, `csr_signature`, `key_weak`, `key_unsupported`, `key_too_large`.
 */
export function parseCsr(pem: string): Result<ParsedCsr, PkiFault> {
  if (Buffer.byteLength(pem) > MAX_CSR_BYTES)
    return refuse('csr_too_large', 'the request is longer than 8 KiB')
  const blocks = parsePem(pem, { label: 'CERTIFICATE REQUEST', max: 1, maxBytes: MAX_CSR_BYTES })
  if (!blocks.ok) return err(asCsrFault(blocks.error))
  const [der] = blocks.value
  if (der === undefined) return refuse('csr_count', 'the text holds no certificate request')
  return attempt('csr_invalid', 'the text is not a canonical certificate request', () => readCsr(der))
}

function readCsr(der: Buffer): ParsedCsr {
  const request = childrenOf(readDer(der), tags.sequence)
  expectEnd(request, 3)
  const info = childrenOf(request[0], tags.sequence)
  expectEnd(info, 4)
  if (smallIntegerOf(info[0]) !== 0) throw new PkiFault('csr_invalid', 'the version of the request is not 1')
  const publicKey = readPublicKey(info[2])
  const keyAlgorithm = must(checkPublicKey(publicKey))
  const signed = encodeDer(constructed(tags.sequence, info))
  if (!verifyNamed(request[1], publicKey, signed, wholeBitsOf(request[2]))) {
    throw new PkiFault('csr_signature', 'the request is not signed by the key in it')
  }
  const extensions = readExtensionRequest(info[3])
  return {
    subject: decodeSubject(info[1]),
    ...decodeAltNames(extensions.get(extensionOids.subjectAltName)),
    requestedExtendedKeyUsages: decodeExtendedKeyUsages(extensions.get(extensionOids.extendedKeyUsage)),
    requestedKeyUsages: decodeKeyUsages(extensions.get(extensionOids.keyUsage)),
    requestsCa: decodeIsAuthority(extensions.get(extensionOids.basicConstraints)),
    publicKey,
    keyAlgorithm,
    der,
    spkiFingerprint: spkiFingerprintOfKey(publicKey),
  }
}

/** One key must have one fingerprint, so the key is accepted only in the encoding that node:crypto gives it. */
function readPublicKey(spki: Der | undefined): KeyObject {
  const bytes = encodeDer(constructed(tags.sequence, childrenOf(spki, tags.sequence)))
  const key = attempt('key_invalid', 'the key in the request cannot be read', () =>
    createPublicKey({ key: bytes, format: 'der', type: 'spki' }),
  )
  const publicKey = must(key)
  if (!spkiOf(publicKey).equals(bytes))
    throw new PkiFault('key_unsupported', 'the key in the request is not in its usual encoding')
  return publicKey
}

function readExtensionRequest(attributes: Der | undefined): ReadonlyMap<string, Extension> {
  const pairs = childrenOf(attributes, contextTag(0, 'constructed')).map((attribute) => {
    const pair = childrenOf(attribute, tags.sequence)
    expectEnd(pair, 2)
    return { type: oidOf(pair[0]), values: childrenOf(pair[1], tags.set) }
  })
  const [wanted, second] = pairs.filter(({ type }) => type === EXTENSION_REQUEST)
  if (second !== undefined) throw new PkiFault('csr_invalid', 'the request states its extensions twice')
  if (wanted === undefined) return new Map()
  expectEnd(wanted.values, 1)
  return decodeExtensions(wanted.values[0])
}

function extensionRequest(altNames: Der): readonly Der[] {
  if (altNames.kind === 'constructed' && altNames.children.length === 0) return []
  const extensions = sequence(encodeExtension(extensionOids.subjectAltName, altNames))
  return [sequence(oid(EXTENSION_REQUEST), constructed(tags.set, [extensions]))]
}

function subjectOf(input: CsrInput): Subject {
  const organizations = input.organizations ?? []
  const { commonName } = input
  if (organizations.some((text) => !isSubjectText(text)))
    throw new PkiFault('subject_invalid', 'an organization is not valid')
  if (isSubjectText(commonName)) return { commonName, organizations }
  if (commonName === input.dnsNames[0]) return { organizations }
  throw new PkiFault('subject_invalid', 'the common name is not valid')
}

function asCsrFault(fault: PkiFault): PkiFault {
  const code = fault.code === 'pem_count' ? 'csr_count' : 'csr_invalid'
  return new PkiFault(code, fault.message, { cause: fault })
}
