/** The extensions that are written and read (RFC 5280 §4.2.1). Each one stands at most once. */
import {
  booleanOf,
  childrenOf,
  constructed,
  contentOf,
  contextTag,
  expectEnd,
  oid,
  oidOf,
  primitive,
  sequence,
  smallIntegerOf,
  tags,
} from './der.ts'
import { PkiFault } from './fault.ts'
import { addressOfOctets, octetsOf, type IpAddress } from './name.ts'
import { encodeDer, readDer, type Der } from './x509-provider.ts'

export const extensionOids = {
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
} as const

/** Bit names of KeyUsage, by position. */
const keyUsages = [
  'digitalSignature',
  'nonRepudiation',
  'keyEncipherment',
  'dataEncipherment',
  'keyAgreement',
  'keyCertSign',
  'cRLSign',
  'encipherOnly',
  'decipherOnly',
] as const
export type KeyUsage = (typeof keyUsages)[number]

const extendedKeyUsageOids = { serverAuth: '1.3.6.1.5.5.7.3.1', clientAuth: '1.3.6.1.5.5.7.3.2' } as const
export type ExtendedKeyUsage = keyof typeof extendedKeyUsageOids

export type AltNames = {
  /** As written: not parsed, upper case and wildcards included. */
  readonly dnsNames: readonly string[]
  readonly ipAddresses: readonly IpAddress[]
  /** How many names of other kinds there are: URI, e-mail, directory and the rest. */
  readonly otherNames: number
}

export type Extension = { readonly id: string; readonly critical: boolean; readonly value: Der }

/** Returns the extensions of a SEQUENCE OF Extension; refuses one that stands twice. */
export function decodeExtensions(list: Der | undefined): ReadonlyMap<string, Extension> {
  const extensions = childrenOf(list, tags.sequence).map(decodeExtension)
  const byId = new Map(extensions.map((extension) => [extension.id, extension]))
  if (byId.size !== extensions.length) throw new PkiFault('der_invalid', 'an extension stands twice')
  return byId
}

export function encodeExtension(id: string, value: Der, critical = false): Der {
  const flag = critical ? [primitive(tags.boolean, Buffer.from([0xff]))] : []
  return sequence(oid(id), ...flag, primitive(tags.octetString, encodeDer(value)))
}

export function decodeAltNames(extension: Extension | undefined): AltNames {
  const names = extension === undefined ? [] : childrenOf(extension.value, tags.sequence)
  const dnsTag = contextTag(2, 'primitive')
  const ipTag = contextTag(7, 'primitive')
  return {
    dnsNames: names.filter(({ tag }) => tag === dnsTag).map((name) => asciiOf(contentOf(name, dnsTag))),
    ipAddresses: names.filter(({ tag }) => tag === ipTag).map((name) => addressOf(contentOf(name, ipTag))),
    otherNames: names.filter(({ tag }) => tag !== dnsTag && tag !== ipTag).length,
  }
}

/** Returns a SubjectAltName; a name that stands twice is written once. */
export function encodeAltNames(dnsNames: readonly string[], ipAddresses: readonly string[]): Der {
  const dns = [...new Set(dnsNames)].map((name) =>
    primitive(contextTag(2, 'primitive'), Buffer.from(name, 'latin1')),
  )
  const ips = [...new Set(ipAddresses)].map((ip) => primitive(contextTag(7, 'primitive'), octetsOf(ip)))
  return sequence(...dns, ...ips)
}

export function decodeKeyUsages(extension: Extension | undefined): readonly KeyUsage[] {
  if (extension === undefined) return []
  const content = contentOf(extension.value, tags.bitString)
  if (content.length < 2 || content.length > 3)
    throw new PkiFault('der_invalid', 'the key usage is out of range')
  return keyUsages.filter((_, bit) => ((content[1 + (bit >> 3)] ?? 0) & (0x80 >> (bit & 7))) !== 0)
}

/** Returns a KeyUsage of the first eight bits, without trailing zero bits (X.690 §11.2.2). */
export function encodeKeyUsages(usages: readonly KeyUsage[]): Der {
  const bits = usages.reduce((octet, usage) => octet | (0x80 >> keyUsages.indexOf(usage)), 0)
  const unused = Math.max(0, 31 - Math.clz32(bits & -bits))
  return primitive(tags.bitString, Buffer.from([unused, bits]))
}

/** Returns names where known, else dotted identifiers, each once and in a fixed order. */
export function decodeExtendedKeyUsages(extension: Extension | undefined): readonly string[] {
  const ids = extension === undefined ? [] : childrenOf(extension.value, tags.sequence).map(oidOf)
  const names = new Map<string, string>(Object.entries(extendedKeyUsageOids).map(([name, id]) => [id, name]))
  return [...new Set(ids.map((id) => names.get(id) ?? id))].sort()
}

export function encodeExtendedKeyUsages(usages: readonly ExtendedKeyUsage[]): Der {
  return sequence(...usages.map((usage) => oid(extendedKeyUsageOids[usage])))
}

export function decodeIsAuthority(extension: Extension | undefined): boolean {
  const fields = extension === undefined ? [] : childrenOf(extension.value, tags.sequence)
  const [first] = fields
  const isAuthority = first?.tag === tags.boolean && booleanOf(first)
  const pathLength = fields.slice(first?.tag === tags.boolean ? 1 : 0)
  if (pathLength.length > 0) smallIntegerOf(pathLength[0])
  expectEnd(pathLength, 1)
  return isAuthority
}

/** Returns BasicConstraints of an authority that signs leaves only, or of a leaf. */
export function encodeBasicConstraints(isAuthority: boolean): Der {
  if (!isAuthority) return sequence()
  return sequence(primitive(tags.boolean, Buffer.from([0xff])), primitive(tags.integer, Buffer.from([0])))
}

export function encodeAuthorityKeyIdentifier(keyId: Buffer): Der {
  return constructed(tags.sequence, [primitive(contextTag(0, 'primitive'), keyId)])
}

function decodeExtension(der: Der): Extension {
  const fields = childrenOf(der, tags.sequence)
  const critical = fields[1]?.tag === tags.boolean && booleanOf(fields[1])
  const at = fields[1]?.tag === tags.boolean ? 2 : 1
  expectEnd(fields, at + 1)
  return { id: oidOf(fields[0]), critical, value: readDer(contentOf(fields[at], tags.octetString)) }
}

function asciiOf(content: Buffer): string {
  const text = content.toString('latin1')
  if (/^[\x21-\x7e]+$/.test(text)) return text
  throw new PkiFault('der_invalid', 'a DNS name is not of its alphabet')
}

function addressOf(content: Buffer): IpAddress {
  if (content.length === 4 || content.length === 16) return addressOfOctets(content)
  throw new PkiFault('der_invalid', 'an address has neither 4 nor 16 octets')
}
