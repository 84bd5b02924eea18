import fc from 'fast-check'
import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { decodeUserData, parseNodeConfiguration, USER_DATA_CAPS, UserDataFault } from '#config'
import { INIT, NODE } from '../sample.ts'

const CONFIG = `${INIT}---\n${NODE}hostname: cp-1\n`
const gzip = (data: string | Buffer) => gzipSync(data)
const base64 = (data: string | Buffer) => Buffer.from(Buffer.from(data).toString('base64'))

function decode(data: string | Buffer) {
  const result = decodeUserData(Buffer.from(data))
  if (!result.ok) throw result.error
  return result.value
}

function codeOf(data: string | Buffer): string {
  const result = decodeUserData(Buffer.from(data))
  return result.ok ? 'accepted' : result.error.code
}

function faultOf(data: string | Buffer): UserDataFault {
  const result = decodeUserData(Buffer.from(data))
  if (result.ok) throw new Error('accepted')
  return result.error
}

describe('wrappings', () => {
  it.each([
    ['nothing', Buffer.from(CONFIG), []],
    ['gzip', gzip(CONFIG), ['gzip']],
    ['base64', base64(CONFIG), ['base64']],
    ['base64 of gzip', base64(gzip(CONFIG)), ['base64', 'gzip']],
    ['gzip of base64', gzip(base64(CONFIG)), ['gzip', 'base64']],
    ['four layers', gzip(base64(gzip(base64(CONFIG)))), ['gzip', 'base64', 'gzip', 'base64']],
    ['two members of gzip', Buffer.concat([gzip(CONFIG.slice(0, 20)), gzip(CONFIG.slice(20))]), ['gzip']],
    ['a byte order mark', Buffer.from(`\uFEFF${CONFIG}`), ['bom']],
    ['CRLF', Buffer.from(CONFIG.replaceAll('\n', '\r\n')), ['crlf']],
    ['a byte order mark in base64', base64(`\uFEFF${CONFIG}`), ['base64', 'bom']],
  ])('takes off %s, and says so', (_name, bytes, layers) => {
    expect(decode(bytes)).toEqual({
      text: CONFIG,
      layers,
      format: 'node-configuration',
      bytesIn: bytes.length,
      bytesOut: CONFIG.length,
      digest: `sha256:${createHash('sha256').update(bytes).digest('hex')}`,
    })
  })

  it('round-trips any nesting of up to four layers', () => {
    const layer = fc.constantFrom(gzip, base64)
    fc.assert(
      fc.property(
        fc.array(layer, { maxLength: 4 }),
        fc.stringMatching(/^[a-zäöü #:-]{0,60}$/),
        (layers, comment) => {
          const text = `${CONFIG}# ${comment}\n`
          const bytes = layers.reduce((inner: Buffer, wrap) => wrap(inner), Buffer.from(text))
          expect(decode(bytes).text).toBe(text)
        },
      ),
      { numRuns: 60 },
    )
  })

  it.each([
    ['a space', ' '],
    ['a TAB', '\t'],
    ['CRLF', '\r\n'],
    ['LF', '\n'],
  ])('takes base64 with %s after each 76th character (BR-019)', (_name, separator) => {
    const wrapped = base64(CONFIG).toString().replace(/.{76}/g, `$&${separator}`)
    expect(decode(`${wrapped}${separator}`).text).toBe(CONFIG)
  })

  it('refuses a foreign character in base64 with its offset (BR-019)', () => {
    const text = base64(CONFIG).toString()
    const fault = faultOf(`${text.slice(0, 77)}%${text.slice(77)}`)
    expect(fault.code).toBe('base64_character')
    expect(fault.message).toContain('at offset 77')
    expect(faultOf(`${text.slice(0, 60)}=${text.slice(61)}`).code).toBe('base64_character')
  })

  it('takes the URL-safe alphabet, and refuses missing padding, which looks like a cut (BR-019)', () => {
    const text = `${CONFIG}# ?>ÿ~~~???>>>ÿÿÿ\n`
    const urlSafe = base64(text).toString().replaceAll('+', '-').replaceAll('/', '_')
    expect(urlSafe).toMatch(/[-_]/)
    expect(decode(urlSafe).text).toBe(text)
    const padded = base64('kind: NodeConfigur').toString()
    for (const extra of ['', 'x', 'xy']) {
      const encoded = base64(`${CONFIG}${extra}`).toString()
      const bare = encoded.replace(/=+$/, '')
      if (bare !== encoded) expect(codeOf(bare)).toBe('base64_padding')
      expect(codeOf(encoded.slice(0, encoded.length - 5).replace(/=+$/, ''))).toBe('base64_padding')
    }
    expect(padded).not.toContain('=')
  })

  it('never unwraps what was never wrapped', () => {
    const inner = base64(CONFIG).toString()
    const text = `${NODE}files:\n  - {path: /etc/stele/a, content: ${inner}}\n`
    expect(decode(text)).toMatchObject({ text, layers: [] })
    for (const key of ['a', 'apiVersion', 'trust']) expect(decode(`${key}: ${inner}`).layers).toEqual([])
  })

  it('names the layer that an error is in', () => {
    expect(faultOf(base64(gzip(CONFIG).subarray(0, 60))).message).toMatch(/ends too early \(inside base64\)$/)
    expect(faultOf(gzip(base64('#!/bin/sh\n'))).message).toMatch(/\(inside gzip, then base64\)$/)
  })
})

describe('limits', () => {
  it('refuses input above 1 MiB, and a fifth layer', () => {
    expect(codeOf(Buffer.alloc(1024 * 1024 + 1, 'a'))).toBe('input_too_large')
    expect(codeOf(gzip(gzip(gzip(gzip(gzip(CONFIG))))))).toBe('too_many_layers')
  })

  it('refuses a gzip bomb by ratio and by size, in one layer and in several', () => {
    const zeros = (megabytes: number) => gzip(Buffer.alloc(megabytes * 1024 * 1024, 'a: b\n'))
    expect(codeOf(zeros(1))).toBe('ratio_too_large')
    expect(codeOf(zeros(64))).toBe('output_too_large')
    expect(codeOf(gzip(zeros(64)))).toBe('ratio_too_large')
    expect(codeOf(base64(zeros(64)))).toBe('output_too_large')
  })

  it('counts the ratio from the first input on, so that layers do not multiply it', () => {
    const member = gzip(`# ${createHash('sha256').update('x').digest('hex')}`.padEnd(2000, 'a: b\n'))
    const inner = Buffer.concat(Array.from({ length: 500 }, () => member))
    const outer = gzip(inner)
    expect(inner.length).toBeLessThan(64 * 1024)
    expect(inner.length * 100).toBeGreaterThan(500 * 2000)
    expect(codeOf(inner)).toBe('accepted')
    expect(codeOf(outer)).toBe('ratio_too_large')
  })

  it('takes a small text of any ratio', () => {
    const text = `${CONFIG}# ${'a'.repeat(60_000)}\n`
    expect(text.length / gzip(text).length).toBeGreaterThan(100)
    expect(decode(gzip(text)).text).toBe(text)
  })

  it('refuses gzip that is cut, damaged or followed by something else', () => {
    const bytes = gzip(CONFIG)
    const damaged = Buffer.from(bytes)
    damaged[20] = (damaged[20] ?? 0) ^ 0xff
    expect(codeOf(bytes.subarray(0, bytes.length - 3))).toBe('gzip_truncated')
    expect(codeOf(damaged)).toBe('gzip_corrupt')
    expect(codeOf(Buffer.concat([bytes, Buffer.from('more')]))).toBe('gzip_corrupt')
  })

  it('never throws and keeps to its caps, whatever the bytes', () => {
    const wrapped = fc
      .uint8Array({ maxLength: 300 })
      .chain((bytes) =>
        fc.constantFrom(Buffer.from(bytes), gzip(Buffer.from(bytes)), base64(Buffer.from(bytes))),
      )
    fc.assert(
      fc.property(wrapped, (bytes) => {
        const result = decodeUserData(bytes)
        if (result.ok) expect(result.value.bytesOut).toBeLessThanOrEqual(USER_DATA_CAPS.outputBytes)
        else expect(result.error).toBeInstanceOf(UserDataFault)
      }),
      { numRuns: 500 },
    )
  })

  it('takes smaller caps of a caller', () => {
    const result = decodeUserData(Buffer.from(CONFIG), { caps: { inputBytes: 10 } })
    expect(!result.ok && result.error.code).toBe('input_too_large')
  })
})

describe('what it is instead of a node configuration', () => {
  it.each([
    ['shell_script', '#!/bin/bash\necho hi\n'],
    ['cloud_config', '#cloud-config\npackages: [x]\n'],
    ['cloud_config', '## template: jinja\n#cloud-config\nwrite_files: []\n'],
    ['cloud_config', '#include\nhttp://example.test\n'],
    ['mime_multipart', 'Content-Type: multipart/mixed; boundary="x"\n\n'],
    ['mime_multipart', 'MIME-Version: 1.0\n'],
    ['ignition', '{"ignition": {"version": "3.4.0"}}'],
    ['markup', '<!DOCTYPE html><html><body>Log in</body></html>'],
    ['markup', '<?xml version="1.0"?><Error><Code>404</Code></Error>'],
    ['encoding_utf8', Buffer.from('text \xc3( text', 'latin1')],
    ['binary', Buffer.from('text \0 text')],
    ['binary', Buffer.from('text \x07 text')],
    ['compression_unknown', Buffer.from('28b52ffd0000', 'hex')],
    ['compression_unknown', Buffer.from('fd377a585a0000', 'hex')],
  ])('is %s (BR-003, BR-010): %j', (code, data) => {
    const fault = faultOf(data)
    expect(fault.code).toBe(code)
    expect(faultOf(base64(data)).code).toBe(code)
  })

  it('refuses a random blob (BR-003)', () => {
    const blob = createHash('shake256', { outputLength: 4096 }).update('blob').digest()
    expect(['binary', 'encoding_utf8', 'encoding_utf16']).toContain(faultOf(blob).code)
  })

  it.each([
    ['no bytes', ''],
    ['white space', ' \r\n\t\n'],
    ['a comment', '# nothing\n'],
    ['an empty document', '---\n# nothing\n...\n'],
    ['a byte order mark', '\uFEFF'],
    ['nothing in gzip', gzip('')],
  ])('is absent, and no fault of anybody, with %s (BR-004)', (_name, data) => {
    expect(codeOf(data)).toBe('absent')
  })

  it('finds the text behind a byte order mark, blank lines and CRLF, and refuses UTF-16 by name (BR-021)', () => {
    for (const before of ['\uFEFF', '\r\n', '   \n']) {
      const { text } = decode(`${before}${CONFIG}`)
      expect(parseNodeConfiguration(text, { file: 'f' }).ok).toBe(true)
      expect(codeOf(`${before}#cloud-config\n`)).toBe('cloud_config')
    }
    for (const mark of ['fffe', 'feff']) {
      const fault = faultOf(Buffer.concat([Buffer.from(mark, 'hex'), Buffer.from(CONFIG, 'utf16le')]))
      expect(fault.code).toBe('encoding_utf16')
      expect(fault.message).toContain('UTF-16')
    }
  })

  it('says nothing of what is in the data', () => {
    const marker = 'M4RKER'
    for (const text of [
      `#!${marker}`,
      `#cloud-config\n${marker}`,
      `<${marker}>`,
      `${marker}\u0000`,
      `{"ignition":"${marker}"}`,
    ]) {
      const fault = faultOf(text)
      expect(`${fault.message} ${fault.hint}`).not.toContain(marker)
    }
  })
})
