import { isIPv6 } from 'node:net'

/** The address as text that means one thing: an IPv4 address that arrived on an IPv6 socket (RFC 4291 section 2.5.5.2) is the IPv4 address. */
export function plainAddress(address: string | undefined): string {
  if (address === undefined) return 'unknown'
  const mapped = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i.exec(address)
  return mapped?.[1] ?? address
}

/** Whom to count an address for: one IPv4 address, or the /64 of an IPv6 address, which one host may use whole (RFC 4291 section 2.5.1). */
export function addressOwner(address: string): string {
  const plain = plainAddress(address)
  if (!isIPv6(plain)) return plain
  return `${expand(plain).slice(0, 4).join(':')}::/64`
}

/** The eight groups of an IPv6 address, without leading zeros. */
function expand(address: string): readonly string[] {
  const [bare = ''] = address.split('%')
  const [head = '', tail] = bare.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const missing = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length)
  const groups = [...before, ...Array.from({ length: missing }, () => '0'), ...after]
  return groups.map((group) => group.toLowerCase().replace(/^0+(?=.)/, ''))
}
