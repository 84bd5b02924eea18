import type { NetworkInterfaceInfo } from 'node:os'
import { describe, expect, it } from 'vitest'
import { lastKnown, nodeAddresses, waitForAddress } from '../../../../agent/core/linux/address.ts'

function at(address: string, internal = false): NetworkInterfaceInfo {
  const common = { address, netmask: '', mac: '', internal, cidr: null }
  return address.includes(':') ? { ...common, family: 'IPv6', scopeid: 0 } : { ...common, family: 'IPv4' }
}

describe('nodeAddresses', () => {
  it('takes what another machine can reach, IPv4 first, each once', () => {
    expect(
      nodeAddresses({
        lo: [at('127.0.0.1', true), at('::1', true)],
        ens3: [at('2001:db8::5'), at('10.0.0.9'), at('fe80::1'), at('169.254.3.4')],
        ens4: [at('10.0.0.9'), at('10.0.0.10'), at('fd00::7')],
      }),
    ).toEqual(['10.0.0.10', '10.0.0.9', '2001:db8::5', 'fd00::7'])
  })

  it('leaves out what the pod network and the service proxy made', () => {
    const interfaces = Object.fromEntries(
      ['cni0', 'veth12ab', 'flannel.1', 'kube-ipvs0', 'cali99', 'cilium_host', 'docker0', 'tunl0'].map(
        (name, index) => [name, [at(`10.244.0.${index + 1}`)]],
      ),
    )
    expect(nodeAddresses(interfaces)).toEqual([])
  })
})

describe('lastKnown', () => {
  it('keeps the last addresses while there are none', () => {
    let now: readonly string[] = []
    const addresses = lastKnown(() => now)
    expect(addresses()).toEqual([])
    now = ['10.0.0.1']
    expect(addresses()).toEqual(['10.0.0.1'])
    now = []
    expect(addresses()).toEqual(['10.0.0.1'])
    now = ['10.0.0.2']
    expect(addresses()).toEqual(['10.0.0.2'])
  })
})

describe('waitForAddress', () => {
  it('returns with the first address, or at the limit', async () => {
    let now = 0
    const clock = {
      now: () => new Date(0),
      monotonic: () => now,
      sleep: async (ms: number) => void (now += ms),
    }
    const signal = new AbortController().signal
    await waitForAddress({
      addresses: () => (now < 1000 ? [] : ['10.0.0.1']),
      limitMs: 20_000,
      clock,
      signal,
    })
    expect(now).toBe(1000)
    await waitForAddress({ addresses: () => [], limitMs: 20_000, clock, signal })
    expect(now).toBe(21_000)
  })
})
