import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import type { KeyObject } from 'node:crypto'
import { oid, primitive, sequence, tags } from '../../../pki/der.ts'
import { createCsr, parseCsr, type KeyAlgorithm } from '../../../pki/index.ts'
import { buildCsr, codeOf, csrPem, dns, ip, newKey, valueOf, weakRsa } from './build.ts'
import { encodeExtension, extensionOids } from '../../../pki/extension.ts'
import { readDer } from '../../../pki/x509-provider.ts'

const algorithms: readonly KeyAlgorithm[] = ['ec-p256', 'ed25519', 'rsa-2048']
const keys = new Map<KeyAlgorithm, KeyObject>()
const keyOf = (algorithm: KeyAlgorithm) => keys.get(algorithm)!

beforeAll(async () => {
  for (const algorithm of algorithms) keys.set(algorithm, await newKey(algorithm))
})

describe('createCsr and parseCsr', () => {
  it.each(algorithms)('give back what was asked for (%s)', async (algorithm) => {
    const input = {
      key: keyOf(algorithm),
      commonName: 'w1',
      dnsNames: ['w1', 'w1.example.com'],
      ipAddresses: ['10.0.0.1', '2001:db8::7'],
    }
    const parsed = valueOf(
      parseCsr(await createCsr({ ...input, organizations: ['stele:admin', 'Zürich & Söhne'] })),
    )
    expect(parsed).toMatchObject({
      subject: { commonName: 'w1', organizations: ['stele:admin', 'Zürich & Söhne'] },
      dnsNames: input.dnsNames,
      ipAddresses: input.ipAddresses,
      otherNames: 0,
      requestedExtendedKeyUsages: [],
      requestsCa: false,
      keyAlgorithm: algorithm,
    })
  })

  it('leaves a common name above 64 characters to the DNS names (BR-033)', async () => {
    const long = `${'a'.repeat(60)}.${'b'.repeat(60)}`
    const input = { key: keyOf('ec-p256'), commonName: long, ipAddresses: [] }
    const parsed = valueOf(parseCsr(await createCsr({ ...input, dnsNames: [long] })))
    expect([parsed.subject.commonName, parsed.dnsNames]).toEqual([undefined, [long]])
    await expect(createCsr({ ...input, dnsNames: [] })).rejects.toMatchObject({ code: 'subject_invalid' })
  })

  it.each(['ec-p256', 'ed25519'] as const)('accept no single flipped bit (%s)', (algorithm) => {
    const der = buildCsr({ key: keyOf(algorithm), commonName: 'w1', names: [dns('w1'), ip(10, 0, 0, 1)] })
    const accepted: number[] = []
    for (let bit = 0; bit < der.length * 8; bit += 1)
      if (parseCsr(csrPem(flip(der, bit))).ok) accepted.push(bit)
    expect(codeOf(parseCsr(csrPem(der)))).toBe('accepted')
    expect(accepted).toEqual([])
  })

  it('accept no single flipped bit (RSA, sampled)', () => {
    const der = buildCsr({ key: keyOf('rsa-2048'), commonName: 'w1', names: [dns('w1')] })
    fc.assert(
      fc.property(fc.nat(der.length * 8 - 1), (bit) => {
        expect(parseCsr(csrPem(flip(der, bit))).ok).toBe(false)
      }),
      { numRuns: 500 },
    )
  })

  it('never throw, whatever the bytes are', () => {
    const der = buildCsr({ key: keyOf('ec-p256'), commonName: 'w1' })
    const cut = fc
      .tuple(fc.nat(der.length), fc.uint8Array({ maxLength: 40 }))
      .map(([at, tail]) => [der.subarray(0, at), tail])
    fc.assert(
      fc.property(
        fc.oneof(
          cut,
          fc.uint8Array({ minLength: 1, maxLength: 400 }).map((bytes) => [bytes]),
        ),
        (parts) => {
          const bytes = Buffer.concat(parts)
          fc.pre(!bytes.equals(der))
          expect(parseCsr(csrPem(bytes)).ok).toBe(false)
        },
      ),
    )
    expect(codeOf(parseCsr('\0'))).toBe('csr_count')
  })
})

describe('parseCsr', () => {
  it('refuses RSA-1024, e=3 and other curves by rule (BR-035)', () => {
    expect(codeOf(parseCsr(csrPem(buildCsr({ key: weakRsa({ modulusLength: 1024 }) }))))).toBe('key_weak')
    expect(codeOf(parseCsr(csrPem(buildCsr({ key: weakRsa({ publicExponent: 3 }) }))))).toBe('key_weak')
  })

  it('refuses two requests in one text, none, and 100 KB of them', () => {
    const pem = csrPem(buildCsr({ key: keyOf('ec-p256'), commonName: 'w1' }))
    expect(codeOf(parseCsr(pem + pem))).toBe('csr_count')
    expect(codeOf(parseCsr(''))).toBe('csr_count')
    expect(codeOf(parseCsr(pem.repeat(300)))).toBe('csr_too_large')
    expect(codeOf(parseCsr(pem + '\n'.repeat(100_000)))).toBe('csr_too_large')
    expect(codeOf(parseCsr(pem.replaceAll('CERTIFICATE REQUEST', 'CERTIFICATE')))).toBe('csr_invalid')
  })

  it('refuses a signature by another key', () => {
    const der = buildCsr({ key: keyOf('ed25519'), commonName: 'w1' })
    const other = buildCsr({ key: keyOf('ed25519'), commonName: 'w2' })
    const swapped = Buffer.concat([der.subarray(0, -64), other.subarray(-64)])
    expect(codeOf(parseCsr(csrPem(swapped)))).toBe('csr_signature')
  })

  it('refuses something more inside the algorithm, and algorithms that are not of the key (BR-035)', () => {
    const key = keyOf('rsa-2048')
    const extra = sequence(
      oid('1.2.840.113549.1.1.11'),
      primitive(tags.null, Buffer.alloc(0)),
      primitive(tags.octetString, Buffer.from('x')),
    )
    expect(codeOf(parseCsr(csrPem(buildCsr({ key, algorithm: extra }))))).toBe('csr_invalid')
    const sha1 = sequence(oid('1.2.840.113549.1.1.5'), primitive(tags.null, Buffer.alloc(0)))
    expect(codeOf(parseCsr(csrPem(buildCsr({ key, algorithm: sha1 }))))).toBe('csr_algorithm')
    expect(codeOf(parseCsr(csrPem(buildCsr({ key, algorithm: sequence(oid('1.3.101.112')) }))))).toBe(
      'csr_algorithm',
    )
  })

  it('refuses an extension that stands twice, and trailing bytes', () => {
    const san = encodeExtension(extensionOids.subjectAltName, sequence(dns('w1')))
    expect(codeOf(parseCsr(csrPem(buildCsr({ key: keyOf('ec-p256'), extensions: [san, san] }))))).toBe(
      'csr_invalid',
    )
    const der = buildCsr({ key: keyOf('ec-p256') })
    expect(codeOf(parseCsr(csrPem(Buffer.concat([der, Buffer.from([5, 0])]))))).toBe('csr_invalid')
  })

  it('refuses addresses of another length than 4 and 16 octets (BR-034)', () => {
    for (const octets of [[], [1, 2, 3], [10, 0, 0, 0, 255, 255, 255, 0]]) {
      expect(codeOf(parseCsr(csrPem(buildCsr({ key: keyOf('ec-p256'), names: [ip(...octets)] }))))).toBe(
        'csr_invalid',
      )
    }
  })
})

describe('readDer', () => {
  it.each([
    ['a long length where a short one does', [0x30, 0x81, 0x00]],
    ['an indefinite length', [0x30, 0x80, 0x00, 0x00]],
    ['a number with a zero in front', [0x02, 0x02, 0x00, 0x01]],
    ['trailing bytes', [0x05, 0x00, 0x00]],
    ['a cut element', [0x30, 0x03, 0x02, 0x01]],
    ['a tag of several octets', [0x1f, 0x81, 0x01, 0x00]],
    ['nothing', []],
  ])('refuses %s', (_what, bytes) => {
    expect(() => readDer(Buffer.from(bytes))).toThrow(expect.objectContaining({ code: 'der_invalid' }))
  })

  it('refuses deep nesting and large input', () => {
    const nested = (depth: number): Buffer => {
      let der = Buffer.alloc(0)
      for (let level = 0; level < depth; level += 1)
        der = Buffer.concat([Buffer.from([0x30, der.length]), der])
      return der
    }
    expect(readDer(nested(20)).kind).toBe('constructed')
    expect(() => readDer(nested(30))).toThrow('not DER')
    expect(() => readDer(Buffer.alloc(20_000, 5))).toThrow('16 KiB')
  })
})

function flip(der: Buffer, bit: number): Buffer {
  const copy = Buffer.from(der)
  copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (0x80 >> (bit & 7))
  return copy
}
