import { isIPv6 } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { describeAddress, parseDnsName, parseIpAddress, parseNodeName } from '../../../pki/index.ts'
import { addressOfOctets, octetsOf } from '../../../pki/name.ts'
import { codeOf, valueOf } from './build.ts'

describe('parseIpAddress', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['2001:DB8:0:0:0:0:0:7', '2001:db8::7'],
    ['::1', '::1'],
    ['::', '::'],
    ['0:0:0:0:0:0:0:0', '::'],
    ['::2:3:4:5:6:7:8', '0:2:3:4:5:6:7:8'],
    ['::ffff:192.0.2.7', '::ffff:192.0.2.7'],
    ['::FFFF:c000:207', '::ffff:192.0.2.7'],
  ])('writes %s as %s (BR-034)', (text, canonical) => {
    expect(valueOf(parseIpAddress(text))).toBe(canonical)
  })

  it.each([
    'fe80::1%eth0',
    '192.0.2.007',
    '1.2.3',
    '',
    'localhost',
    '[::1]',
    '1.2.3.4/32',
    ' 1.2.3.4',
    '0x7f.1',
    ':::',
    '1::2::3',
    '1'.repeat(99),
  ])('refuses %j (BR-034)', (text) => {
    expect(codeOf(parseIpAddress(text))).toBe('address_invalid')
  })

  it('gives octets back for every address', () => {
    const octets = fc.oneof(
      fc.uint8Array({ minLength: 16, maxLength: 16 }),
      fc.uint8Array({ minLength: 4, maxLength: 4 }),
    )
    fc.assert(
      fc.property(octets, (bytes) => {
        const address = addressOfOctets(Buffer.from(bytes))
        expect(octetsOf(address).equals(bytes)).toBe(true)
        expect(valueOf(parseIpAddress(address))).toBe(address)
      }),
    )
  })

  it('gives one text for every spelling of an IPv6 address', () => {
    fc.assert(
      fc.property(fc.ipV6(), (text) => {
        fc.pre(isIPv6(text))
        const canonical = valueOf(parseIpAddress(text))
        expect(valueOf(parseIpAddress(text.toUpperCase()))).toBe(canonical)
        expect(valueOf(parseIpAddress(canonical))).toBe(canonical)
      }),
    )
  })
})

describe('describeAddress', () => {
  it.each([
    ['0.0.0.0', 'unspecified'],
    ['::', 'unspecified'],
    ['::ffff:0.0.0.0', 'unspecified'],
    ['127.8.9.1', 'loopback'],
    ['::1', 'loopback'],
    ['::ffff:127.0.0.1', 'loopback'],
    ['::127.0.0.1', 'embedded'],
    ['::2', 'embedded'],
    ['::ffff:0:10.0.0.1', 'embedded'],
    ['64:ff9b::10.0.0.1', 'embedded'],
    ['64:ff9b:1:2::10.0.0.1', 'embedded'],
    ['2002:a00:1::1', 'embedded'],
    ['2001:0:a00:1::1', 'embedded'],
    ['2001:db8::5efe:10.0.0.1', 'embedded'],
    ['64:ff9c::1', 'unicast'],
    ['2003::1', 'unicast'],
    ['2001:db8::1', 'unicast'],
    ['169.254.169.254', 'link-local'],
    ['fe80::1', 'link-local'],
    ['febf::1', 'link-local'],
    ['224.0.0.1', 'multicast'],
    ['239.255.255.255', 'multicast'],
    ['ff02::1', 'multicast'],
    ['255.255.255.255', 'broadcast'],
    ['10.0.0.1', 'unicast'],
    ['fd00::1', 'unicast'],
    ['fec0::1', 'unicast'],
  ])('calls %s %s', (text, kind) => {
    expect(describeAddress(valueOf(parseIpAddress(text)))).toBe(kind)
  })
})

describe('parseNodeName and parseDnsName', () => {
  it.each(['worker-1', 'w.example.com', 'a', '1worker', '1.worker', `${'a'.repeat(63)}.b`])(
    'accept %s',
    (name) => {
      expect(valueOf(parseNodeName(name))).toBe(name)
      expect(valueOf(parseDnsName(name))).toBe(name)
    },
  )

  it.each(
    [
      [
        '',
        'a.',
        '.a',
        'a..b',
        '-a',
        'a-',
        'worker_01',
        '*',
        '*.example.com',
        'a b',
        'ä',
        'a\0',
        'a\n',
        'a@b',
        '10.0.0.1',
        '10',
        'a.10',
      ],
      ['a'.repeat(64), `${'a.'.repeat(127)}a`],
    ].flat(),
  )('refuse %j (BR-033)', (name) => {
    expect(codeOf(parseNodeName(name))).toBe('name_invalid')
    expect(codeOf(parseDnsName(name))).toBe('name_invalid')
  })

  it('a node name has one spelling, a DNS name is brought to it', () => {
    expect(codeOf(parseNodeName('Worker'))).toBe('name_invalid')
    expect(valueOf(parseDnsName('Worker.Example'))).toBe('worker.example')
  })
})
