import type { KeyObject } from 'node:crypto'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { oid, sequence } from '../../../pki/der.ts'
import {
  encodeBasicConstraints,
  encodeExtendedKeyUsages,
  encodeExtension,
  encodeKeyUsages,
  extensionOids,
} from '../../../pki/extension.ts'
import { checkNodeRequest, type NodeRequestPolicy } from '../../../pki/index.ts'
import { codeOf, dns, email, ip, newKey, parsedCsr, uri, valueOf, type CsrShape } from './build.ts'

const policy: NodeRequestPolicy = {
  peerAddress: '10.0.0.21',
  takenNames: new Map([['worker-2', 'sha256:other']]),
  takenAddresses: new Map([
    ['10.0.0.22', 'sha256:other'],
    ['2001:DB8::22', 'sha256:other'],
  ]),
  reservedNames: ['cp-1', 'api.example.com'],
  reservedAddresses: ['10.0.0.1', '10.0.0.100'],
}
const own = [dns('worker-1'), ip(10, 0, 0, 21)]
const serverAuth = '1.3.6.1.5.5.7.3.1'
const clientAuth = '1.3.6.1.5.5.7.3.2'
const usages = (...ids: string[]) =>
  encodeExtension(extensionOids.extendedKeyUsage, sequence(...ids.map(oid)))
const mapped = (...octets: number[]) => ip(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, ...octets)
const v6 = (last: number) => ip(0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last)

let key: KeyObject
beforeAll(async () => {
  key = await newKey('ed25519')
})

function check(shape: Partial<CsrShape>, change: Partial<NodeRequestPolicy> = {}) {
  return checkNodeRequest(parsedCsr({ key, commonName: 'worker-1', names: own, ...shape }), {
    ...policy,
    ...change,
  })
}

describe('checkNodeRequest grants', () => {
  it('two own DNS names and four own addresses (BR-038)', () => {
    const names = [
      dns('worker-1'),
      dns('worker-1.example.com'),
      ip(10, 0, 0, 21),
      ip(10, 1, 0, 21),
      v6(0x21),
      v6(0x31),
    ]
    expect(valueOf(check({ names }))).toEqual({
      commonName: 'worker-1',
      dnsNames: ['worker-1', 'worker-1.example.com'],
      ipAddresses: ['10.0.0.21', '10.1.0.21', '2001:db8::21', '2001:db8::31'],
    })
  })

  it('own addresses only, IPv6 only and own DNS names only (BR-038)', () => {
    expect(valueOf(check({ names: [ip(10, 0, 0, 21)] })).dnsNames).toEqual(['worker-1'])
    expect(valueOf(check({ names: [v6(0x21)] }, { peerAddress: '2001:DB8::21' })).ipAddresses).toEqual([
      '2001:db8::21',
    ])
    expect(valueOf(check({ names: [dns('worker-1')] })).ipAddresses).toEqual([])
  })

  it('the profile when no usage is stated, and the same set in another order or twice (BR-040)', () => {
    expect(codeOf(check({}))).toBe('accepted')
    expect(codeOf(check({ extensions: [usages(serverAuth)] }))).toBe('accepted')
    expect(codeOf(check({ extensions: [usages(serverAuth, serverAuth)] }))).toBe('accepted')
  })

  it('duplicates once, and DNS names in lower case (BR-034)', () => {
    const names = [...own, ...own, dns('WORKER-1'), dns('Worker-1.Example.com')]
    const grant = valueOf(check({ names }))
    expect(grant).toMatchObject({
      dnsNames: ['worker-1', 'worker-1.example.com'],
      ipAddresses: ['10.0.0.21'],
    })
  })

  it('names and addresses that the same key already has, so that a retry is no conflict (BR-041)', () => {
    const { spkiFingerprint } = parsedCsr({ key })
    const change = {
      takenNames: new Map([['worker-1', spkiFingerprint]]),
      takenAddresses: new Map([['10.0.0.21', spkiFingerprint]]),
    }
    expect(codeOf(check({}, change))).toBe('accepted')
  })

  it('loopback to a peer that comes from loopback, also through a mapped address', () => {
    const names = [ip(127, 0, 0, 5)]
    expect(codeOf(check({ names }, { peerAddress: '127.0.0.5' }))).toBe('accepted')
    expect(codeOf(check({ names }, { peerAddress: '::ffff:127.0.0.5' }))).toBe('accepted')
  })

  it('a name without a common name, when it is the first DNS name (BR-033)', () => {
    const long = `${'w'.repeat(60)}.${'x'.repeat(60)}`
    const csr = parsedCsr({ key, names: [dns(long), ip(10, 0, 0, 21)] })
    expect(valueOf(checkNodeRequest(csr, policy)).commonName).toBe(long)
  })
})

describe('checkNodeRequest refuses', () => {
  const ca = encodeExtension(extensionOids.basicConstraints, encodeBasicConstraints(true), true)
  it.each<[string, string, Partial<CsrShape>, Partial<NodeRequestPolicy>?]>([
    ['an organization', 'csr_organization', { organizations: ['stele:admin'] }],
    ['CA:TRUE', 'csr_ca', { extensions: [ca] }],
    ['client usage', 'csr_client_usage', { extensions: [usages(clientAuth)] }],
    [
      'client usage beside server usage (BR-040)',
      'csr_client_usage',
      { extensions: [usages(serverAuth, clientAuth)] },
    ],
    ['any usage', 'csr_usage', { extensions: [usages('2.5.29.37.0')] }],
    ['code signing', 'csr_usage', { extensions: [usages(serverAuth, '1.3.6.1.5.5.7.3.3')] }],
    [
      'signing of certificates',
      'csr_usage',
      { extensions: [encodeExtension(extensionOids.keyUsage, encodeKeyUsages(['keyCertSign']))] },
    ],
    ['a wildcard', 'csr_wildcard', { names: [...own, dns('*.example.com')] }],
    ['a wildcard of its own', 'csr_wildcard', { names: [...own, dns('*.worker-1')] }],
    ['a wildcard as common name', 'csr_wildcard', { commonName: '*' }],
    ['0.0.0.0', 'csr_address_unspecified', { names: [...own, ip(0, 0, 0, 0)] }],
    ['::', 'csr_address_unspecified', { names: [...own, ip(...Array<number>(16).fill(0))] }],
    ['mapped 0.0.0.0', 'csr_address_unspecified', { names: [...own, mapped(0, 0, 0, 0)] }],
    ['a multicast address', 'csr_address_multicast', { names: [...own, ip(224, 0, 0, 1)] }],
    ['the broadcast address', 'csr_address_multicast', { names: [...own, ip(255, 255, 255, 255)] }],
    ['loopback from elsewhere', 'csr_address_local', { names: [...own, ip(127, 0, 0, 1)] }],
    ['the metadata service', 'csr_address_local', { names: [...own, ip(169, 254, 169, 254)] }],
    ['a name of another node', 'csr_name_taken', { commonName: 'worker-2', names: [ip(10, 0, 0, 21)] }],
    ['a DNS name that is not its own', 'csr_name_foreign', { names: [...own, dns('worker-2')] }],
    [
      'a DNS name that only begins alike',
      'csr_name_foreign',
      { names: [...own, dns('worker-10.example.com')] },
    ],
    [
      'a parent domain',
      'csr_name_foreign',
      { commonName: 'worker-1.example.com', names: [dns('example.com')] },
    ],
    ['an address of another node', 'csr_address_taken', { names: [...own, ip(10, 0, 0, 22)] }],
    ['it written as a mapped address', 'csr_address_taken', { names: [...own, mapped(10, 0, 0, 22)] }],
    ['an IPv6 address of another node', 'csr_address_taken', { names: [...own, v6(0x22)] }],
    ['an address of the control plane', 'csr_address_reserved', { names: [...own, ip(10, 0, 0, 100)] }],
    ['the name of a control plane', 'csr_name_reserved', { commonName: 'cp-1', names: [ip(10, 0, 0, 21)] }],
    ['it with a domain', 'csr_name_reserved', { commonName: 'cp-1.example.com', names: [ip(10, 0, 0, 21)] }],
    ['the API endpoint', 'csr_name_reserved', { commonName: 'api.example.com', names: [ip(10, 0, 0, 21)] }],
    [
      'the short name of the API endpoint',
      'csr_name_reserved',
      { commonName: 'api', names: [ip(10, 0, 0, 21)] },
    ],
    [
      'the API endpoint as own name with a domain',
      'csr_name_reserved',
      { commonName: 'api', names: [dns('api.example.com')] },
    ],
    ['addresses without the one it comes from', 'csr_peer_address', { names: [ip(10, 0, 0, 23)] }],
    ['a peer whose address is unknown', 'csr_peer_address', {}, { peerAddress: 'unknown' }],
    ['a URI', 'csr_other_names', { names: [...own, uri('spiffe://x/y')] }],
    ['an e-mail address', 'csr_other_names', { names: [...own, email('a@b')] }],
    ['17 names', 'csr_too_many_names', { names: Array.from({ length: 17 }, (_, n) => ip(10, 0, 1, n)) }],
    [
      'a name with an underscore (BR-033)',
      'csr_name_invalid',
      { commonName: 'worker_01', names: [ip(10, 0, 0, 21)] },
    ],
    ['an address as a DNS name (BR-034)', 'csr_name_invalid', { names: [...own, dns('10.0.0.22')] }],
    ['a NUL in a name', 'csr_name_invalid', { commonName: 'worker-1\0.x' }],
  ])('%s: %s', (_what, code, shape, change) => {
    expect(codeOf(check(shape, change))).toBe(code)
  })

  it.each([
    'localhost',
    'a.localhost',
    'localhost.x',
    'kubernetes',
    'kubernetes.default',
    'x.default.svc',
    'x.ns.svc.corp.example',
    'n.cluster.local',
  ])('the name %s, which is always reserved', (commonName) => {
    expect(codeOf(check({ commonName, names: [ip(10, 0, 0, 21)] }))).toBe('csr_name_reserved')
  })

  it('a request that names nothing', () => {
    expect(codeOf(checkNodeRequest(parsedCsr({ key }), policy))).toBe('csr_name_missing')
  })

  it('with both sets shown, and no text of the request (BR-040)', () => {
    const refused = check({
      extensions: [encodeExtension(extensionOids.extendedKeyUsage, encodeExtendedKeyUsages(['clientAuth']))],
    })
    expect(refused.ok ? '' : refused.error.message).toContain(
      'asked for: clientAuth; the profile gives: serverAuth',
    )
    const marked = check({ organizations: ['marker-text'] })
    expect(JSON.stringify(marked)).not.toContain('marker')
  })
})

describe('checkNodeRequest', () => {
  it('never grants a name or an address that it was not asked for, or that is not the node’s', () => {
    const octet = fc.constantFrom(0, 1, 10, 21, 22, 100, 127, 169, 224, 254, 255)
    const address = fc.tuple(octet, octet, octet, octet).map((octets) => ip(...octets))
    const label = fc.constantFrom(
      'worker-1',
      'worker-2',
      'cp-1',
      '*',
      'worker-1.a',
      'api.example.com',
      'kubernetes',
      'WORKER-1.b',
      'x_y',
    )
    const names = fc.array(fc.oneof(address, label.map(dns), fc.constant(ip(10, 0, 0, 21))), { maxLength: 6 })
    fc.assert(
      fc.property(label, names, (commonName, asked) => {
        const csr = parsedCsr({ key, commonName, names: asked })
        const grant = checkNodeRequest(csr, policy)
        if (!grant.ok) return
        const { value } = grant
        const nodeName: string = value.commonName
        expect(value.dnsNames.every((name) => name === nodeName || name.startsWith(`${nodeName}.`))).toBe(
          true,
        )
        expect(value.ipAddresses.every((one) => csr.ipAddresses.includes(one))).toBe(true)
        const refused = [
          'worker-2',
          'cp-1',
          'api.example.com',
          'kubernetes',
          '10.0.0.22',
          '10.0.0.1',
          '10.0.0.100',
          '0.0.0.0',
        ]
        expect([...value.dnsNames, ...value.ipAddresses].filter((name) => refused.includes(name))).toEqual([])
      }),
      { numRuns: 400 },
    )
  })
})
