import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodePem, parsePem, splitCertificates } from '../../../pki/index.ts'
import { codeOf, valueOf } from './build.ts'

const limits = { label: 'CERTIFICATE', max: 2, maxBytes: 4096 } as const
const one = encodePem(
  'CERTIFICATE',
  Buffer.from('one, which is long enough for a second line of base64 text, I hope'),
)
const padded = encodePem('CERTIFICATE', Buffer.from('four'))
const two = encodePem('CERTIFICATE', Buffer.from('two'))

describe('parsePem', () => {
  it('gives back the bytes that were encoded', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 600 }), (bytes) => {
        const [der] = valueOf(parsePem(encodePem('CERTIFICATE', Buffer.from(bytes)), limits))
        expect(der?.equals(bytes)).toBe(true)
      }),
    )
  })

  it.each([
    ['no block', 'hello', 'pem_count'],
    ['more blocks than allowed', one + one + one, 'pem_count'],
    ['another label', one.replaceAll('CERTIFICATE', 'PRIVATE KEY'), 'pem_invalid'],
    ['another label beside a good block', one + encodePem('PRIVATE KEY', Buffer.from('x')), 'pem_invalid'],
    ['two labels of one block', one.replace('END CERTIFICATE', 'END PRIVATE KEY'), 'pem_invalid'],
    ['junk after the base64', one.replace('\n-----END', '!\n-----END'), 'pem_invalid'],
    ['text inside', one.replace('\n-----END', '\nProc-Type: 4\n-----END'), 'pem_invalid'],
    ['base64 after its padding', padded.replace('\n-----END', '\nAAAA\n-----END'), 'pem_invalid'],
    ['bits behind the padding', two.replace('dHdv', 'dHc9').replace('dHc9', 'dHd='), 'pem_invalid'],
    ['an empty block', '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n', 'pem_invalid'],
    ['no end', one.slice(0, -30), 'pem_invalid'],
    ['no begin', one.slice(30), 'pem_invalid'],
    ['a block in a block', one.replace('\n-----END', `\n${two}-----END`), 'pem_invalid'],
    ['a boundary in a line', `x ${one}`, 'pem_invalid'],
    ['a longer text than allowed', one + ' '.repeat(4096), 'pem_too_large'],
  ])('refuses %s', (_what, text, code) => {
    expect(codeOf(parsePem(text, limits))).toBe(code)
  })
})

describe('splitCertificates', () => {
  it('takes CRLF and text around, and writes each certificate one way (BR-042)', () => {
    const text = `subject: a\n${one}\n# b\n${two}tail`.replaceAll('\n', '\r\n')
    expect(valueOf(splitCertificates(text))).toEqual([one, two])
  })

  it('refuses a bundle that holds no certificate (BR-042)', () => {
    expect(codeOf(splitCertificates(''))).toBe('pem_count')
  })
})
