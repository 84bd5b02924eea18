import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { printYaml, readDocuments } from '#config'

const back = (text: string) => {
  const { documents, findings } = readDocuments(text, { file: 'f' })
  return { data: documents.map((one) => one.data), findings }
}

/** Text of UTF-8: a lone surrogate cannot be written to a file. */
const utf8 = fc.string({ unit: 'grapheme', maxLength: 40 })
const hostile = fc.constantFrom(
  '1.30',
  '0644',
  '0o17',
  '0x1F',
  'yes',
  'No',
  'on',
  'y',
  'true',
  'null',
  '~',
  '',
  ' ',
  '-',
  '---',
  '...',
  '- a',
  '? b',
  ': c',
  'a: b',
  '#',
  'a #b',
  '|',
  '>',
  '%x',
  '@',
  '`',
  '!t',
  '&a',
  '*a',
  '{',
  '[',
  '"',
  "'",
  '\\',
  '\t',
  'a\tb',
  'a\r\nb',
  'a\n',
  '\na',
  'a\n\nb',
  ' a\n',
  'a \n',
  '\u0000',
  '\u0085',
  '\u2028',
  '\uFEFF',
  '2026-12-01',
  '1:30',
  '1_000',
  '.inf',
  '.nan',
  '=',
  '<<',
  '${VAR}',
  '%{x}',
  '{{ .X }}',
  'sed \'s/{{ .X }}/a\\/b: "c"/\' f # not comment',
)
const scalar = fc.oneof(utf8, hostile, fc.integer(), fc.boolean())
const tree = fc.letrec((tie) => ({
  node: fc.oneof({ depthSize: 'small' }, scalar, fc.array(tie('node'), { maxLength: 4 }), tie('map')),
  map: fc.dictionary(
    fc.oneof(utf8, hostile).filter((key) => key !== '__proto__' && key !== '<<'),
    tie('node'),
    { maxKeys: 4 },
  ),
}))

describe('printYaml', () => {
  it('reads back equal, whatever the data', () => {
    fc.assert(
      fc.property(fc.array(tree.map, { minLength: 1, maxLength: 3 }), (documents) => {
        const plain = documents.map((one) => JSON.parse(JSON.stringify(one)) as unknown)
        const read = back(printYaml(plain))
        expect(read.findings).toEqual([])
        expect(read.data).toEqual(plain)
      }),
      { numRuns: 300 },
    )
  })

  it('reads back equal under YAML 1.1, which kubeadm reads', () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.stringMatching(/^[a-z]{2,8}$/).filter((key) => !/^(?:no|on|off|yes|true|false|null)$/.test(key)),
          fc.oneof(hostile, utf8),
        ),
        (data) => {
          expect(parse(printYaml([data]).replace(/^---\n/, ''), { version: '1.1' })).toEqual({ ...data })
        },
      ),
      { numRuns: 300 },
    )
  })

  it('keeps what looks like numbers and truths in quotes, in keys too', () => {
    expect(printYaml([{ a: '1.30', b: '0644', c: 'yes', no: 'v1.31.4' }])).toBe(
      '---\na: "1.30"\nb: "0644"\nc: "yes"\n"no": v1.31.4\n',
    )
  })
})
