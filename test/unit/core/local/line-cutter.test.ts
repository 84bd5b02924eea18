import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LineCutter, MAX_LINE_BYTES } from '../../../../agent/core/local/line-cutter.ts'

const cut = (pieces: readonly Buffer[], skipLines = 0) => {
  const cutter = new LineCutter({ skipLines })
  const out = pieces.flatMap((piece) => cutter.take(piece) ?? [])
  return Buffer.concat([...out, cutter.end() ?? Buffer.alloc(0)]).toString('latin1')
}

describe('LineCutter', () => {
  it('gives the same lines however the bytes are cut', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: fc.constantFrom('a', 'b', '\n') })), (parts) => {
        const whole = parts.join('')
        const expected = whole === '' || whole.endsWith('\n') ? whole : `${whole}\n`
        expect(cut(parts.map((part) => Buffer.from(part)))).toBe(expected)
      }),
    )
  })

  it('cuts a line over 16 KiB and says so (BR-061)', () => {
    const long = Buffer.alloc(MAX_LINE_BYTES + 1, 'x')
    const lines = cut([long, long, Buffer.from('\nnext\n')]).split('\n')
    expect(lines[0]).toContain('[line cut]')
    expect(lines[0]?.length).toBeLessThan(MAX_LINE_BYTES + 30)
    expect(lines[1]).toBe('next')
  })

  it('leaves out the lines that were not asked for', () => {
    expect(cut([Buffer.from('a\nb\nc\n')], 2)).toBe('c\n')
  })
})
