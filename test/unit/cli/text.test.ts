import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { plain, printable, table } from '../../../agent/cli/text.ts'

describe('table', () => {
  it('aligns columns two spaces apart, without borders and without spaces at the end', () => {
    expect(
      table(
        ['NODE', 'ROLE', 'CONFIG'],
        [
          ['cp-1', 'control-plane', 'rev 1'],
          ['worker-1', '', 'rev 12'],
        ],
      ),
    ).toBe('NODE      ROLE           CONFIG\ncp-1      control-plane  rev 1\nworker-1  -              rev 12')
  })

  it('has a line a row, whatever a cell holds', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string(), fc.string()), { maxLength: 5 }), (rows) => {
        expect(table(['A', 'B'], rows).split('\n')).toHaveLength(rows.length + 1)
      }),
    )
  })
})

describe('printable', () => {
  it('leaves no control character but tab, and keeps letters of every language', () => {
    expect(printable('größe\t日本')).toBe('größe\t日本')
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(printable(text)).not.toMatch(/[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/)
      }),
    )
  })
})

describe('plain', () => {
  it('keeps 64-bit numbers exact: as numbers where they fit, as text where they do not', () => {
    expect(plain({ a: 9007199254740991n, b: 9007199254740993n })).toEqual({
      a: 9007199254740991,
      b: '9007199254740993',
    })
  })

  it('drops what is unset and keeps what is empty', () => {
    expect(plain({ a: undefined, b: '', c: [] })).toEqual({ b: '', c: [] })
  })
})
