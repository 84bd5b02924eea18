/**
 * Names that certificates carry, parsed once. A value of a branded type is canonical: equal names are equal texts.
 */
import { isIPv4, isIPv6 } from 'node:net'
import { refuse, type PkiFault } from './fault.ts'
import { ok, type Result } from './result.ts'

/** Lower case, no wildcard, no trailing dot, last label not a number. */
export type DnsName = string & { readonly __brand: 'DnsName' }
/** RFC 5952 text: lower case, compressed, an embedded IPv4 address dotted. */
export type IpAddress = string & { readonly __brand: 'IpAddress' }
/** RFC 1123 subdomain, as Kubernetes names a node. */
export type NodeName = string & { readonly __brand: 'NodeName' }

export type AddressKind =
  | 'unspecified'
  | 'loopback'
  | 'link-local'
  | 'multicast'
  | 'broadcast'
  /** An IPv6 address that carries an IPv4 address, other than a mapped one: who answers there depends on the network. */
  | 'embedded'
  | 'unicast'

const MAX_NAME = 253
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/** Returns the name in lower case. Refuses with `name_invalid`; wildcards, `_`, trailing dots and what looks like an address included. */
export function parseDnsName(text: string): Result<DnsName, PkiFault> {
  const name = text.toLowerCase()
  // The cast marks what was just checked; a brand has no other way in.
  return isDnsName(name) ? ok(name as DnsName) : refuse('name_invalid', 'the text is not a DNS name')
}

/** As `parseDnsName`, but upper case is refused too: a node name is an identity, and there is one way to write it. */
export function parseNodeName(text: string): Result<NodeName, PkiFault> {
  if (isDnsName(text)) return ok(text as NodeName) // checked in this line
  return refuse(
    'name_invalid',
    'the text is not a node name',
    'lower-case letters, digits, - and . only; labels of at most 63 characters, 253 together',
  )
}

/** Returns the address in canonical form. Refuses zone ids, leading zeros and everything that is not an address with `address_invalid`. */
export function parseIpAddress(text: string): Result<IpAddress, PkiFault> {
  if (text.includes('%'))
    return refuse('address_invalid', 'an address with a zone id means something on one host only')
  if (text.length > 45 || !(isIPv4(text) || isIPv6(text)))
    return refuse('address_invalid', 'the text is not an IP address')
  return ok(addressOfOctets(octetsOf(text)))
}

/** Returns the address of 4 or 16 octets; throws on another length, which is a broken invariant. */
export function addressOfOctets(octets: Buffer): IpAddress {
  // The casts mark text that is made here, from octets, in its one canonical form.
  if (octets.length === 4) return octets.join('.') as IpAddress
  if (octets.length !== 16) throw new RangeError('an address has 4 or 16 octets')
  if (isMapped(octets)) return `::ffff:${octets.subarray(12).join('.')}` as IpAddress
  const groups = Array.from({ length: 8 }, (_, index) => octets.readUInt16BE(index * 2).toString(16))
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1) as IpAddress
}

/** Returns the 4 or 16 octets of an address that was parsed (RFC 5280 §4.2.1.6: network byte order, raw). */
export function octetsOf(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number))
  const plain = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [head = '', tail] = plain.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0')
  const octets = Buffer.alloc(16)
  const groups = [...before, ...zeros, ...after]
  groups.forEach((group, index) => octets.writeUInt16BE(Number.parseInt(group, 16), index * 2))
  return octets
}

/** Returns the IPv4 address inside a mapped IPv6 address, else the address itself: two texts that reach the same host compare equal. */
export function unmapAddress(address: IpAddress): IpAddress {
  const octets = octetsOf(address)
  return octets.length === 16 && isMapped(octets) ? addressOfOctets(octets.subarray(12)) : address
}

/** Returns what kind of address it is; a mapped address is what the IPv4 address inside it is. */
export function describeAddress(ip: IpAddress): AddressKind {
  const octets = octetsOf(unmapAddress(ip))
  return octets.length === 4 ? describeV4(octets) : describeV6(octets)
}

function describeV4(octets: Buffer): AddressKind {
  const [first = 0, second = 0] = octets
  if (first === 0) return 'unspecified'
  if (first === 127) return 'loopback'
  if (first === 169 && second === 254) return 'link-local'
  if (first >= 224 && first < 240) return 'multicast'
  return octets.every((octet) => octet === 255) ? 'broadcast' : 'unicast'
}

function describeV6(octets: Buffer): AddressKind {
  const first = octets.readUInt16BE(0)
  if (octets.subarray(0, 15).every((octet) => octet === 0)) {
    if (octets[15] === 0) return 'unspecified'
    if (octets[15] === 1) return 'loopback'
  }
  if (first >= 0xff00) return 'multicast'
  if (isEmbedded(octets)) return 'embedded'
  return first >= 0xfe80 && first <= 0xfebf ? 'link-local' : 'unicast'
}

/**
 * IPv4-compatible (RFC 4291 §2.5.5.1), IPv4-translated (RFC 2765 §2.1), NAT64 (RFC 6052 §2.1, RFC 8215), Teredo (RFC 4380), 6to4 (RFC 3056) and
 * ISATAP (RFC 5214 §6.1).
 */
function isEmbedded(octets: Buffer): boolean {
  const hex = octets.toString('hex')
  return /^(0{24}|0{16}ffff0000|0064ff9b0{16}|0064ff9b0001|20010000|2002|.{16}0[02]005efe)/.test(hex)
}

function isMapped(octets: Buffer): boolean {
  return octets.subarray(0, 10).every((octet) => octet === 0) && octets.readUInt16BE(10) === 0xffff
}

function isDnsName(name: string): boolean {
  if (name.length === 0 || name.length > MAX_NAME) return false
  const labels = name.split('.')
  // A last label that is a number would be read as an IPv4 address by some resolvers and verifiers (WHATWG URL, "ends in a number").
  return labels.every((label) => LABEL.test(label)) && !/^(\d+|0x[0-9a-f]*)$/i.test(labels.at(-1) ?? '')
}
