import { describe, expect, it } from 'vitest'
import { matches, parseTranscript } from '../../scenario/transcript.ts'

describe('parseTranscript', () => {
  it('reads needs, commands over several lines, what is printed, and the exit', () => {
    const text =
      "# a remark\nneeds: demo cluster\n\n$ cat > a <<'E'\n> x\n> E\n$ false\nsorry\n[exit 1]\n\n#: another remark\n$ true\n"
    expect(parseTranscript(text)).toEqual({
      needs: ['demo cluster'],
      steps: [
        { line: 4, command: "cat > a <<'E'\nx\nE", expected: [], exit: 0 },
        { line: 7, command: 'false', expected: ['sorry'], exit: 1 },
        { line: 12, command: 'true', expected: [], exit: 0 },
      ],
    })
  })

  it('refuses text before the first command', () => {
    expect(() => parseTranscript('hello\n$ x\n')).toThrow('line 1')
  })
})

describe('matches', () => {
  it.each([
    [['a…c'], ['abbbc'], true],
    [['a…c'], ['abbb'], false],
    [['a.c'], ['abc'], false],
    [['…', 'end'], ['1', '2', 'end'], true],
    [['…'], [], true],
    [['a', '…', 'b'], ['a', 'b'], true],
    [['a'], ['a', 'b'], false],
    [[], ['a'], false],
  ])('compares %j with %j', (expected, printed, isSame) => {
    expect(matches(expected, printed)).toBe(isSame)
  })
})
