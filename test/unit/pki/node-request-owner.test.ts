import type { KeyObject } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { checkNodeRequest, type NodeRequestPolicy } from '../../../pki/index.ts'
import { codeOf, dns, ip, newKey, parsedCsr } from './build.ts'

const policy: NodeRequestPolicy = {
  peerAddress: '10.0.0.21',
  takenNames: new Map([
    ['worker-2', 'sha256:other'],
    ['worker-3.example.org', 'sha256:other'],
  ]),
  takenAddresses: new Map(),
  reservedNames: ['cp-1'],
  reservedAddresses: ['10.0.0.1', '10.96.0.0/12', '2001:db8::40/122', 'bad/8', '10.0.0.0/x'],
}
const v4 = ip(10, 0, 0, 21)
const mapped = (...octets: number[]) => ip(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, ...octets)
const v6 = (last: number) => ip(0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last)
/** An IPv6 address that begins like `prefix` and ends with four octets. */
const embedded = (prefix: string, ...octets: number[]) =>
  ip(...Buffer.from(prefix.padEnd(24, '0'), 'hex'), ...octets)

let key: KeyObject
beforeAll(async () => {
  key = await newKey('ed25519')
})
const check = (addresses: readonly ReturnType<typeof ip>[], peerAddress = '10.0.0.21') =>
  codeOf(
    checkNodeRequest(parsedCsr({ key, commonName: 'worker-1', names: [dns('worker-1'), ...addresses] }), {
      ...policy,
      peerAddress,
    }),
  )
const checkName = (commonName: string) =>
  codeOf(checkNodeRequest(parsedCsr({ key, commonName, names: [v4] }), policy))

describe('checkNodeRequest refuses the address', () => {
  it.each([
    ['loopback that it does not come from, from loopback', [ip(127, 0, 0, 5), ip(127, 0, 0, 6)]],
    ['::1 from IPv4 loopback', [ip(127, 0, 0, 5), embedded('', 0, 0, 0, 1)]],
  ])('%s', (_what, addresses) => {
    expect(check(addresses, '127.0.0.5')).toBe('csr_address_local')
  })

  it.each([
    ['behind NAT64', embedded('0064ff9b', 10, 0, 0, 1)],
    ['IPv4-compatible', embedded('', 10, 0, 0, 1)],
    ['6to4', embedded('20020a000001', 0, 0, 0, 1)],
    ['first of services', ip(10, 96, 0, 1)],
    ['last of services', ip(10, 111, 255, 255)],
    ['of services, mapped', mapped(10, 96, 0, 1)],
    ['of pods, IPv6', v6(0x7f)],
    ['of the control plane, mapped', mapped(10, 0, 0, 1)],
  ])('%s', (_what, address) => {
    expect(check([v4, address])).toBe('csr_address_reserved')
  })

  it('that is the ninth', () => {
    const addresses = Array.from({ length: 9 }, (_, n) => ip(10, 0, 0, 21 + n))
    expect(check(addresses)).toBe('csr_too_many_names')
    expect(check(addresses.slice(1, 9), '10.0.0.22')).toBe('accepted')
  })
})

describe('checkNodeRequest grants the address', () => {
  it('beside a network that is reserved', () => {
    expect(check([v4, ip(10, 95, 255, 255), ip(10, 112, 0, 0), v6(0x3f), v6(0x80)])).toBe('accepted')
  })

  it('that it comes from, also within such a network', () => {
    expect(check([ip(10, 97, 0, 5)], '10.97.0.5')).toBe('accepted')
  })
})

describe('checkNodeRequest refuses the name', () => {
  it.each([
    ['0x7f000001', 'csr_name_invalid'],
    ['worker.0x1', 'csr_name_invalid'],
    ['0177', 'csr_name_invalid'],
    ['worker-2.example.com', 'csr_name_taken'],
    ['worker-3', 'csr_name_taken'],
  ])('%s: %s', (name, code) => {
    expect(checkName(name)).toBe(code)
  })

  it('but none that only begins alike', () => {
    expect(['worker-20', 'worker-3.example.com', '0x7g', 'a0x1'].map(checkName)).toEqual(
      Array.from({ length: 4 }, () => 'accepted'),
    )
  })
})
