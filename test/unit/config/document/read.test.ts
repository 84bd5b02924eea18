import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatFinding, parseNodeConfiguration, readDocuments } from '#config'
import { accept, brief, CLUSTER, INIT, KUBELET, NODE, refuse } from '../sample.ts'

const lines = (count: number, line: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => `${line(index)}\n`).join('')

describe('reading YAML', () => {
  it('tells both lines of a duplicate key (BR-024)', () => {
    const findings = refuse(`${NODE}hostname: a\nsysctls: {}\nhostname: b\n`)
    expect(brief(findings)).toEqual(['duplicate_key hostname 5:1'])
    expect(findings[0]?.message).toContain('in lines 3 and 5')
  })

  it('refuses __proto__ as a key, and leaves the prototype alone (BR-024)', () => {
    expect(brief(refuse(`${NODE}__proto__:\n  hostname: a\n`))).toEqual(['key_refused __proto__ 3:1'])
    expect(brief(refuse(`${NODE}trust:\n  __proto__: {ca: x}\n`))).toEqual([
      'key_refused trust.__proto__ 4:3',
    ])
    expect(Object.keys(Object.prototype)).toEqual([])
  })

  it('refuses an alias bomb before anything is expanded (BR-024)', () => {
    const levels = Array.from(
      { length: 9 },
      (_, level) =>
        `l${level}: &l${level} [${
          level === 0
            ? 'x'
            : Array(9)
                .fill(`*l${level - 1}`)
                .join(',')
        }]`,
    )
    const codes = new Set(refuse(`${NODE}${levels.join('\n')}\n`).map((finding) => finding.code))
    expect(codes).toContain('alias_refused')
  })

  it.each([
    ['an anchor', 'hostname: &a cp', 'alias_refused'],
    ['an alias', 'hostname: *a', 'alias_refused'],
    ['a merge key', '<<: {hostname: a}', 'alias_refused'],
    ['a tag', 'hostname: !!str cp', 'tag_refused'],
    ['a tag of its own', 'hostname: !x cp', 'tag_refused'],
  ])('refuses %s', (_name, line, code) => {
    expect(refuse(`${NODE}${line}\n`).map((finding) => finding.code)).toContain(code)
  })

  it('refuses directives, which would switch to YAML 1.1', () => {
    expect(refuse(`%YAML 1.1\n---\n${NODE}`).map((finding) => finding.code)).toContain('directive_refused')
  })

  it.each([
    ['kubernetesVersion: 1.30', CLUSTER, 'kubernetesVersion'],
    ['clusterName: 123', CLUSTER, 'clusterName'],
    ['clusterName: true', CLUSTER, 'clusterName'],
    ['hostname: 0644', NODE, 'hostname'],
    ['hostname: 1e3', NODE, 'hostname'],
  ])('never changes what is written as a number or truth and meant as text: %s', (line, head, path) => {
    expect(brief(refuse(`${head}${line}\n`))).toEqual([`ambiguous_scalar ${path} 3:${path.length + 3}`])
  })

  it('takes file permissions in quotes alone', () => {
    const file = (permissions: string) =>
      `${NODE}files:\n  - path: /etc/stele/a\n    content: x\n    permissions: ${permissions}\n`
    expect(accept(file('"0644"')).node.files[0]?.permissions).toBe('0644')
    for (const bad of ['0644', '644', '0o644']) {
      expect(brief(refuse(file(bad)))).toEqual(['ambiguous_scalar files[0].permissions 6:18'])
    }
    expect(brief(refuse(file('"0999"')))).toEqual(['wrong_form files[0].permissions 6:18'])
  })

  it.each(['010', '"10"', '0x10', '1e1', '1.0', '9007199254740993'])(
    'refuses %s where a number is expected',
    (text) => {
      const findings = refuse(`${INIT}localAPIEndpoint:\n  bindPort: ${text}\n`)
      expect(findings.map((one) => one.path)).toEqual(['localAPIEndpoint.bindPort'])
      expect(findings[0]?.code).toBe(text.startsWith('"') ? 'wrong_type' : 'ambiguous_scalar')
    },
  )

  it('says what a key without a value is', () => {
    expect(brief(refuse(`${NODE}hostname:\n`))).toEqual(['no_value hostname 3:1'])
  })

  it('separates documents by CRLF, with comments, and without a last line break (BR-069)', () => {
    const text = `${CLUSTER}clusterName: a\n--- # second\n${INIT}---\n${NODE}hostname: cp-1`
    expect(accept(text.replaceAll('\n', '\r\n')).kubeadm.map((one) => one.kind)).toEqual([
      'ClusterConfiguration',
      'InitConfiguration',
    ])
    expect(accept(`---\n---\n${text}\n---\n`).node.hostname).toBe('cp-1')
  })

  it('refuses a separator that is stuck to the line before it (BR-069)', () => {
    expect(refuse(`${CLUSTER}clusterName: a---\n${INIT}`).map((one) => one.code)).toEqual([
      'duplicate_key',
      'duplicate_key',
    ])
  })

  it('counts documents, and gives lines of the file', () => {
    const findings = refuse(`${CLUSTER}---\n${INIT}---\n${NODE}hostname: UPPER\n`)
    expect(findings.map(formatFinding)[0]).toMatch(/^f:9:11: .* \(hostname\) \[hostname_form\]$/)
    expect(findings[0]?.document).toBe(3)
  })

  it('maps syntax errors to its own words, which hold nothing of the text', () => {
    for (const text of [
      'a: "M4RKER',
      'a: [M4RKER',
      '{M4RKER: x',
      'a: M4RKER: b',
      '\tM4RKER: x',
      'a: "\\qM4RKER"',
      '@M4RKER',
    ]) {
      const { findings } = readDocuments(text, { file: 'f' })
      expect(findings.map((one) => one.code)).toContain('yaml_syntax')
      expect(JSON.stringify(findings)).not.toContain('M4RKER')
    }
  })

  it('reports problems of every document, sorted by place', () => {
    const findings = refuse(`${CLUSTER}clusterNam: a\n---\n${INIT}bad: [\n---\n${NODE}hostname: A\nfoo: 1\n`)
    const lines = findings.map((one) => one.line)
    expect(findings.map((one) => one.code)).toEqual(expect.arrayContaining(['unknown_key', 'yaml_syntax']))
    expect(lines).toEqual(lines.toSorted((a, b) => a - b))
  })

  it.each([
    ['1 MiB', `${NODE}hostname: ${'a'.repeat(1024 * 1024)}`, 'too_large'],
    ['64 levels', `${NODE}hostname: ${'['.repeat(65)}${']'.repeat(65)}`, 'too_deep'],
    ['64 levels in a block', `a: ${'- '.repeat(70)}x`, 'yaml_syntax'],
    ['32 documents', `---\n${NODE}`.repeat(33), 'too_many_documents'],
    ['its parts', 'a: b\n'.repeat(40_000), 'too_complex'],
    ['its levels, all open', '['.repeat(400_000), 'too_deep'],
    ['its parts, in the lines of one text', `a: '${'\n x'.repeat(300_000)}'\n`, 'too_complex'],
  ])('refuses text beyond the cap of %s', (_name, text, code) => {
    expect(refuse(text).map((one) => one.code)).toContain(code)
  })

  it('takes 64 levels, whichever way they are written, and not one more', () => {
    const levels = (count: number) => [
      '['.repeat(count) + ']'.repeat(count),
      '{a: '.repeat(count) + '}'.repeat(count),
      `${'- '.repeat(count)}x`,
      Array.from({ length: count }, (_, level) => `${' '.repeat(level)}a:\n`).join(''),
      Array.from({ length: count }, (_, level) => `${' '.repeat(level)}? a\n${' '.repeat(level)}:\n`).join(
        '',
      ),
    ]
    for (const text of levels(64)) expect(readDocuments(text, { file: 'f' }).findings).toEqual([])
    for (const text of levels(65)) expect(refuse(text).map((one) => one.code)).toEqual(['too_deep'])
  })

  it('does not overflow the stack on deep nesting', () => {
    for (const text of [
      '- '.repeat(20_000),
      '['.repeat(40_000),
      '? '.repeat(20_000),
      '{a: '.repeat(10_000),
    ]) {
      expect(refuse(text).map((one) => one.code)).toContain('too_deep')
    }
  })

  it.each([
    ['numbers that would change', `${KUBELET}a: [${'01,'.repeat(5_000)}]\n`, 'ambiguous_scalar'],
    ['unknown keys', NODE + lines(3_000, (i) => `k${i}: 1`), 'unknown_key'],
    [
      'values',
      `${NODE}kubernetes:\n  nodeLabels:\n${lines(3_000, (i) => `    a${i}: "x y"`)}`,
      'label_value_form',
    ],
    ['keys twice', KUBELET + lines(3_000, () => 'k: 1'), 'duplicate_key'],
    ['tags', `${KUBELET}a: [${'!a 1,'.repeat(4_000)}]\n`, 'tag_refused'],
    ['directives', '%A b\n'.repeat(5_000), 'directive_refused'],
    ['syntax errors', `${KUBELET}a: [${','.repeat(5_000)}]\n`, 'yaml_syntax'],
    ['documents', `${NODE}hostname: A\n${lines(9, (i) => `k${i}: 1`)}---\n`.repeat(20), 'unknown_key'],
  ])('tells the first 100 problems and that there are more: %s', (_name, text, code) => {
    const findings = refuse(text)
    expect(findings).toHaveLength(101)
    expect(findings.map((one) => one.code)).toContain(code)
    expect(findings.findIndex((one) => one.code === 'too_many_findings')).toBe(100)
    const at = findings.map((one) => one.line * 1e7 + one.column)
    expect(at).toEqual(at.toSorted((a, b) => a - b))
    expect(at[0]).toBeLessThan(1e8)
  })

  it('counts the escapes of one text that YAML does not know, before an error is made of each', () => {
    const escapes = (text: string) => refuse(`${KUBELET}a: "${text}"\n`).map((one) => one.code)
    expect(escapes('\\q'.repeat(500_000))).toEqual(['too_complex'])
    expect(escapes('\\x4'.repeat(100_000))).toEqual(['too_complex'])
    expect(escapes('\\q'.repeat(90))).toEqual(Array(90).fill('yaml_syntax'))
    expect(escapes('\\q'.repeat(9_000))).toHaveLength(101)
    const good = '\\\\\\"\\n\\x41\\u00e4\\U0001f600\\\n \\\t'.repeat(20_000)
    expect(readDocuments(`a: "${good}"\n`, { file: 'f' }).findings).toEqual([])
  })

  it('shows both ends of a long path, in 200 characters', () => {
    const levels = Array.from({ length: 55 }, (_, i) => `${' '.repeat(i)}${'k'.repeat(60)}${i}:\n`).join('')
    const { findings } = readDocuments(`first:\n${levels.replaceAll(/^/gm, ' ').trimEnd()} 01\n`, {
      file: 'f',
    })
    expect(findings.map((one) => one.path.length)).toEqual([200])
    expect(findings[0]?.path).toMatch(/^first\.k{60}0\.k+…k+53\.k{60}54$/)
  })

  it('never throws, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        parseNodeConfiguration(text, { file: 'f' })
      }),
      { numRuns: 300 },
    )
  })

  it('never throws when one character of a valid document is changed', () => {
    const valid = `${CLUSTER}networking: {podSubnet: 10.0.0.0/16}\n---\n${INIT}---\n${NODE}hostname: cp-1\nfiles:\n  - path: /etc/stele/a\n    content: |\n      x\n`
    accept(valid)
    fc.assert(
      fc.property(
        fc.nat(valid.length - 1),
        fc.string({ unit: 'binary', minLength: 0, maxLength: 1 }),
        (at, character) => {
          parseNodeConfiguration(`${valid.slice(0, at)}${character}${valid.slice(at + 1)}`, { file: 'f' })
        },
      ),
      { numRuns: 500 },
    )
  })
})
