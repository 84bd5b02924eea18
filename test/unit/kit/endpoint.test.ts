import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatEndpoint, parseEndpoint } from '#kit/endpoint'

const parse = (text: string) => parseEndpoint(text, { defaultPort: 50_000 })

describe('endpoint', () => {
  it.each([
    ['node-a', { host: 'node-a', port: 50_000 }],
    ['node-a:50001', { host: 'node-a', port: 50_001 }],
    ['192.0.2.7', { host: '192.0.2.7', port: 50_000 }],
    ['2001:db8::5', { host: '2001:db8::5', port: 50_000 }],
    ['[2001:db8::5]', { host: '2001:db8::5', port: 50_000 }],
    ['[2001:db8::5]:6443', { host: '2001:db8::5', port: 6443 }],
    ['https://API.example.test:6443/', { host: 'api.example.test', port: 6443 }],
    ['https://[2001:db8::1]:6443', { host: '2001:db8::1', port: 6443 }],
    ['api.example.test.', { host: 'api.example.test', port: 50_000 }],
  ])('reads %s (BR-056, BR-073)', (text, endpoint) => {
    expect(parse(text)).toEqual({ ok: true, value: endpoint })
  })

  it.each([
    ':6443',
    'host:99999',
    'host:0',
    'a b:6443',
    '',
    'fe80::1%eth0',
    '[fe80::1%eth0]:1',
    '[192.0.2.1]:5',
    'host:',
    '1.2.3',
    '999.1.1.1',
    'host:1e3',
    '-a:1',
  ])('refuses %j (BR-056, BR-073)', (text) => {
    expect(parse(text).ok).toBe(false)
  })

  it('refuses an IPv6 address followed by what may be a port as ambiguous (BR-056)', () => {
    expect(parse('2001:db8::zz:50000')).toMatchObject({ ok: false, error: { code: 'endpoint_ambiguous' } })
  })

  it('never cuts an IPv6 address at its first colon (BR-074)', () => {
    fc.assert(
      fc.property(fc.ipV6(), fc.integer({ min: 1, max: 65_535 }), (host, port) => {
        const read = parse(formatEndpoint({ host, port }))
        expect(read).toEqual({ ok: true, value: { host: host.toLowerCase(), port } })
      }),
    )
  })

  it('answers any text without throwing and without echoing it', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 12 }), (text) => {
        const read = parse(text)
        if (!read.ok) expect(read.error.message).not.toContain(text)
      }),
    )
  })
})
