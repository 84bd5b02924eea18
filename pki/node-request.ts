/**
 * What a joining node may have of what its request asks for. The certificate is built from the grant, never from the request.
 *
 * Invariants: everything that is asked for and not allowed is a refusal that names its rule, never a silent cut; each comparison is between
 * parsed names, and a mapped IPv6 address is the IPv4 address inside it, other IPv6 addresses with one inside are nobody's; a caller whose address is unknown gets nothing.
 */
import type { ParsedCsr } from './csr.ts'
import { must, attempt, PkiFault, type PkiFaultCode } from './fault.ts'
import {
  describeAddress,
  octetsOf,
  parseDnsName,
  parseIpAddress,
  parseNodeName,
  unmapAddress,
  type DnsName,
  type IpAddress,
  type NodeName,
} from './name.ts'
import { profiles } from './profile.ts'
import type { Result } from './result.ts'

export type NodeRequestPolicy = {
  /** The address that the request came from. */
  readonly peerAddress: string
  /** Name → fingerprint of the key that holds it. */
  readonly takenNames: ReadonlyMap<string, string>
  /** Address → fingerprint of the key that holds it. */
  readonly takenAddresses: ReadonlyMap<string, string>
  /** Names of control planes and of API endpoints, besides those that are always reserved. */
  readonly reservedNames: readonly string[]
  /** Addresses, and networks as `address/prefix`, such as those of services and pods. The peer's own address may lie in a network. */
  readonly reservedAddresses: readonly string[]
}

export type NodeGrant = {
  readonly commonName: NodeName
  /** The node name first. */
  readonly dnsNames: readonly DnsName[]
  readonly ipAddresses: readonly IpAddress[]
}

const MAX_NAMES = 16
const MAX_ADDRESSES = 8
/** What TLS libraries put into a request for a server; none of it gives power, and the profile sets its own. */
const HARMLESS_KEY_USAGES: readonly string[] = [
  'digitalSignature',
  'nonRepudiation',
  'keyEncipherment',
  'keyAgreement',
]

/** Returns the names and addresses that the node gets, or the first rule that its request breaks (codes `csr_*`). Pure. */
export function checkNodeRequest(csr: ParsedCsr, policy: NodeRequestPolicy): Result<NodeGrant, PkiFault> {
  return attempt('csr_invalid', 'the request cannot be checked', () => {
    checkShape(csr)
    checkUsages(csr)
    const { commonName, dnsNames } = checkNames(csr)
    for (const name of dnsNames) checkOwner(name, csr, policy)
    const ipAddresses = checkAddresses(csr, policy)
    return { commonName, dnsNames, ipAddresses }
  })
}

function checkShape(csr: ParsedCsr): void {
  if (csr.requestsCa) throw broken('csr_ca', 'a node does not become an authority')
  if (csr.subject.organizations.length > 0)
    throw broken('csr_organization', 'a node has no organization, which is a role here')
  if (csr.otherNames > 0) throw broken('csr_other_names', 'a node has DNS names and IP addresses only')
  if (csr.dnsNames.length + csr.ipAddresses.length > MAX_NAMES) {
    throw broken('csr_too_many_names', `a node has at most ${MAX_NAMES} names and addresses`)
  }
  if (new Set(csr.ipAddresses.map(unmapAddress)).size > MAX_ADDRESSES)
    throw broken('csr_too_many_names', `a node has at most ${MAX_ADDRESSES} addresses`)
}

/** Usages that are absent are those of the profile; order and duplicates mean nothing (`ParsedCsr` holds a set). */
function checkUsages(csr: ParsedCsr): void {
  const given: readonly string[] = profiles['node-serving'].extendedKeyUsages
  const asked = csr.requestedExtendedKeyUsages
  // Only names that are known are written back, so that a refusal carries no text of the request.
  const shown = asked.map((usage) => (/^[a-zA-Z]+$/.test(usage) ? usage : 'another')).join(', ')
  const sets = `asked for: ${shown}; the profile gives: ${given.join(', ')}`
  if (asked.includes('clientAuth'))
    throw broken('csr_client_usage', `a node certificate is not for clients (${sets})`)
  if (asked.some((usage) => !given.includes(usage)))
    throw broken('csr_usage', `a node certificate is for serving only (${sets})`)
  if (csr.requestedKeyUsages.some((usage) => !HARMLESS_KEY_USAGES.includes(usage))) {
    throw broken('csr_usage', 'a node key signs handshakes only, no certificates')
  }
}

function checkNames(csr: ParsedCsr): {
  readonly commonName: NodeName
  readonly dnsNames: readonly DnsName[]
} {
  const text = csr.subject.commonName ?? csr.dnsNames[0]
  if (text === undefined)
    throw broken('csr_name_missing', 'the request has neither a common name nor a DNS name')
  if ([text, ...csr.dnsNames].some((name) => name.includes('*')))
    throw broken('csr_wildcard', 'a node has no wildcard name')
  const commonName = parseNodeName(text)
  if (!commonName.ok) throw broken('csr_name_invalid', 'the node name is not valid', commonName.error.hint)
  const own = must(parseDnsName(commonName.value))
  const dnsNames = csr.dnsNames.map((name) => {
    const parsed = parseDnsName(name)
    if (!parsed.ok) throw broken('csr_name_invalid', 'a DNS name is not valid')
    return parsed.value
  })
  if (dnsNames.some((name) => name !== own && !name.startsWith(`${own}.`))) {
    throw broken('csr_name_foreign', 'each DNS name is the node name, or the node name with a domain')
  }
  return { commonName: commonName.value, dnsNames: [...new Set([own, ...dnsNames])] }
}

function checkOwner(name: DnsName, csr: ParsedCsr, policy: NodeRequestPolicy): void {
  if (
    isAlwaysReserved(name) ||
    policy.reservedNames.some((reserved) => shadows(name, reserved.toLowerCase()))
  ) {
    throw broken('csr_name_reserved', 'a name belongs to the control plane or to Kubernetes')
  }
  const taken = [...policy.takenNames].some(
    ([other, owner]) => owner !== csr.spkiFingerprint && shadows(name, other.toLowerCase()),
  )
  if (taken) {
    throw broken(
      'csr_name_taken',
      'a name belongs to a node with another key, or is that name with or without a domain',
      'remove the old node first, if it is gone for good',
    )
  }
}

/** A short name and the same name with a domain reach one host for whoever has a search domain. */
function shadows(name: string, reserved: string): boolean {
  return name === reserved || name.startsWith(`${reserved}.`) || reserved.startsWith(`${name}.`)
}

function isAlwaysReserved(name: DnsName): boolean {
  const labels = name.split('.')
  if (labels[0] === 'kubernetes' || labels.at(-1) === 'localhost' || labels[0] === 'localhost') return true
  // Services, under whatever domain the cluster has, and the usual domain itself.
  return labels.includes('svc', 1) || name === 'cluster.local' || name.endsWith('.cluster.local')
}

function checkAddresses(csr: ParsedCsr, policy: NodeRequestPolicy): readonly IpAddress[] {
  const peer = parseIpAddress(policy.peerAddress)
  if (!peer.ok) throw broken('csr_peer_address', 'the address that the request comes from is unknown')
  const from = unmapAddress(peer.value)
  const reserved = new Set(policy.reservedAddresses.map(comparable))
  const networks = policy.reservedAddresses.flatMap(networkOf)
  const owners = new Map([...policy.takenAddresses].map(([address, key]) => [comparable(address), key]))
  for (const address of csr.ipAddresses) {
    checkKind(address, from)
    const plain = unmapAddress(address)
    if (reserved.has(plain)) throw broken('csr_address_reserved', 'an address belongs to the control plane')
    if (plain !== from && networks.some((network) => isWithin(plain, network)))
      throw broken('csr_address_reserved', 'an address lies in a network of services or pods')
    const owner = owners.get(plain)
    if (owner !== undefined && owner !== csr.spkiFingerprint) {
      throw broken(
        'csr_address_taken',
        'an address belongs to a node with another key',
        'remove the old node first, if it is gone for good',
      )
    }
  }
  const comesFromOne = csr.ipAddresses.some((address) => unmapAddress(address) === from)
  if (csr.ipAddresses.length > 0 && !comesFromOne) {
    throw broken(
      'csr_peer_address',
      'the address that the request comes from is not among the requested addresses',
    )
  }
  return [...new Set(csr.ipAddresses)]
}

function checkKind(address: IpAddress, peer: IpAddress): void {
  const kind = describeAddress(address)
  switch (kind) {
    case 'unspecified':
      throw broken('csr_address_unspecified', 'an address is unspecified: it would stand for every host')
    case 'multicast':
    case 'broadcast':
      throw broken('csr_address_multicast', 'an address is multicast or broadcast: it is of no single host')
    case 'loopback':
    case 'link-local':
      // Only the very address that was seen: link-local addresses are also those of metadata services.
      if (unmapAddress(address) === peer) return
      throw broken('csr_address_local', `an address is ${kind}, and the request does not come from it`)
    case 'embedded':
      throw broken('csr_address_reserved', 'an IPv6 address carries an IPv4 address: ask for that one')
    case 'unicast':
      return
  }
}

type Network = { readonly octets: Buffer; readonly prefix: number }

/** The network that `text` is, as none or one; a bare address is none. */
function networkOf(text: string): readonly Network[] {
  const [address = '', length] = text.split('/')
  const parsed = parseIpAddress(address)
  if (length === undefined || !parsed.ok || !/^\d{1,3}$/.test(length)) return []
  return [{ octets: octetsOf(parsed.value), prefix: Number(length) }]
}

function isWithin(address: IpAddress, { octets, prefix }: Network): boolean {
  const own = octetsOf(address)
  if (own.length !== octets.length) return false
  return own.every((octet, index) => {
    const bits = Math.min(8, Math.max(0, prefix - index * 8))
    return (octet ^ (octets[index] ?? 0)) >> (8 - bits) === 0
  })
}

/** Policy lists come from files and interfaces: what does not parse as an address is compared as text, and matches nothing that does. */
function comparable(address: string): string {
  const parsed = parseIpAddress(address)
  return parsed.ok ? unmapAddress(parsed.value) : address
}

function broken(code: PkiFaultCode, message: string, hint?: string): PkiFault {
  return new PkiFault(code, message, hint === undefined ? {} : { hint })
}
