/** The addresses that this node is reached at: what its certificate names, and what the console shows. */
import { networkInterfaces, type NetworkInterfaceInfo } from 'node:os'
import { BlockList, isIPv6 } from 'node:net'
import type { Clock } from '#kit/clock'

export type Interfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>

/** Interfaces that the pod network and the service proxy make: their addresses are not the node's, and come and go. */
const NOT_OURS =
  /^(lo|cni|veth|docker|flannel|cali|vxlan|cilium|lxc|kube-|nodelocaldns|dummy|tunl|ip6tnl|sit)/

/** Own to a link or a host, or no address of one machine (RFC 6890, RFC 5735). */
const RANGES: readonly (readonly [string, number, 'ipv4' | 'ipv6'])[] = [
  ['0.0.0.0', 8, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['224.0.0.0', 3, 'ipv4'],
  ['::', 127, 'ipv6'],
  ['fe80::', 10, 'ipv6'],
  ['ff00::', 8, 'ipv6'],
]

const POLL_MS = 250

/** Returns the addresses of `interfaces` that another machine may reach this one at, without repetition, in a stable order. Pure. */
export function nodeAddresses(interfaces: Interfaces): readonly string[] {
  const notGlobal = new BlockList()
  for (const [network, prefix, family] of RANGES) notGlobal.addSubnet(network, prefix, family)
  const found = Object.entries(interfaces)
    .filter(([name]) => !NOT_OURS.test(name))
    .flatMap(([, addresses]) => addresses ?? [])
    .filter((one) => !one.internal)
    .map((one) => one.address)
    .filter((address) => !notGlobal.check(address, isIPv6(address) ? 'ipv6' : 'ipv4'))
  return [...new Set(found)].sort((a, b) => Number(isIPv6(a)) - Number(isIPv6(b)) || (a < b ? -1 : 1))
}

/** Returns the addresses of this host as they are now. */
export function currentAddresses(): readonly string[] {
  return nodeAddresses(networkInterfaces())
}

/**
 * Returns a function that tells the addresses, and the last ones known while there are none: a link that is down for a moment, or for good because
 * the machine stops, is no reason for another certificate.
 */
export function lastKnown(addresses: () => readonly string[]): () => readonly string[] {
  let known: readonly string[] = []
  return () => {
    const now = addresses()
    if (now.length > 0) known = now
    return known
  }
}

/** Returns when the host has an address, or after `limitMs` without one: a node without a network still has to come up. */
export async function waitForAddress(options: {
  readonly addresses: () => readonly string[]
  readonly limitMs: number
  readonly clock: Clock
  readonly signal: AbortSignal
}): Promise<void> {
  const { addresses, clock, limitMs, signal } = options
  const until = clock.monotonic() + limitMs
  while (addresses().length === 0 && clock.monotonic() < until) await clock.sleep(POLL_MS, signal)
}
