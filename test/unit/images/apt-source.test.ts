import { describe, expect, it } from 'vitest'
import { parseDeb822, parseOneLine, sourcesFor } from '../../../images/apt-source.ts'

const stanza = (suites: string, uri: string, more = '') =>
  `Types: deb\n# a comment\nURIs: ${uri}\nSuites: ${suites}\nComponents: main\n${more}`

describe('the host’s sources', () => {
  it('are read in both formats', () => {
    expect(
      parseOneLine(
        'deb [arch=amd64] http://m.test/debian/ bookworm main contrib\n# deb x y z\ndeb-src a b c',
      ),
    ).toEqual([{ uri: 'http://m.test/debian', suites: ['bookworm'], components: ['main', 'contrib'] }])
    const both = `${stanza('bookworm bookworm-updates', 'http://m.test/debian')}\n\n${stanza('bookworm-security', 'http://s.test/x', 'Enabled: no')}`
    expect(parseDeb822(both).map((source) => source.uri)).toEqual(['http://m.test/debian'])
  })

  it('give the sources of another release, signed by Debian’s keyring', () => {
    const host = [
      ...parseDeb822(stanza('bookworm', 'http://m.test/debian')),
      ...parseDeb822(stanza('bookworm-security', 'http://m.test/debian-security')),
    ]
    const lines = sourcesFor('trixie', host)
    expect(lines.map((line) => line.replace(/^deb \[signed-by=\S+\] /, ''))).toEqual([
      'http://m.test/debian trixie main',
      'http://m.test/debian trixie-updates main',
      'http://m.test/debian-security trixie-security main',
    ])
    expect(lines.every((line) => line.includes('signed-by=') && !line.includes('trusted'))).toBe(true)
  })

  it.each(['notaurl', 'ftp://a/debian', 'http://a/debian main'])(
    'are refused with the mirror %s',
    (mirror) => {
      expect(() => sourcesFor('trixie', [], mirror)).toThrow(
        expect.objectContaining({
          code: 'source_unknown',
          message: expect.stringContaining(mirror) as string,
        }),
      )
    },
  )

  it('give way to a mirror, and are refused when they name no Debian', () => {
    expect(sourcesFor('trixie', [], 'http://own.test/debian/')[2]).toContain(
      'http://own.test/debian-security trixie-security',
    )
    expect(() => sourcesFor('trixie', [])).toThrow(expect.objectContaining({ code: 'source_unknown' }))
  })
})
