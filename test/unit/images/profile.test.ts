import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseContents, parseProfile } from '../../../images/profile.ts'

const images = join(import.meta.dirname, '../../../images')
const profile = readFileSync(join(images, 'profiles/qemu-amd64.yaml'), 'utf8')
const uml = readFileSync(join(images, 'profiles/uml-amd64.yaml'), 'utf8')
const contents = readFileSync(join(images, 'contents/node.yaml'), 'utf8')

describe('the profile document', () => {
  it('accepts the profiles and contents of the repository', () => {
    expect(parseProfile(profile, 'p').name).toBe('qemu-amd64')
    expect(parseProfile(uml, 'p').outputs).toEqual(['uml'])
    expect(parseContents(contents, 'c').packages).toContain('systemd')
  })

  it('refuses an unknown key and names where it is', () => {
    expect(() => parseProfile(profile.replace('espMiB', 'espMib'), 'p')).toThrow(/p: partitions.*espMiB/)
    expect(() => parseContents(`${contents}\nextra: 1\n`, 'c')).toThrow(/"extra"/)
  })

  it('refuses a disk without partitions, and wants none where there is no disk', () => {
    expect(() => parseProfile(profile.replace(/^partitions:.*$/m, ''), 'p')).toThrow(
      'p: partitions: a disk needs them',
    )
    expect(parseProfile(uml, 'p').partitions).toBeUndefined()
  })

  it('refuses a disk and User-Mode Linux in one, because they start by different kernel arguments', () => {
    expect(() => parseProfile(profile.replace('[raw, qcow2]', '[raw, uml]'), 'p')).toThrow(
      /p: outputs: .*two/,
    )
  })

  it('refuses a key that is given twice', () => {
    expect(() => parseProfile(`${profile}\nname: other\n`, 'p')).toThrow(/unique/i)
  })

  it('refuses a kernel argument that would be two', () => {
    expect(() => parseProfile(profile.replace('- quiet', "- 'quiet init=/bin/sh'"), 'p')).toThrow(
      /commandLine/,
    )
  })

  it('refuses an alias, which could make a small document huge', () => {
    expect(() =>
      parseProfile(profile.replace('outputs: [raw, qcow2]', 'outputs: &a [raw]\nbudgets2: *a'), 'p'),
    ).toThrow()
  })
})

describe('the contents of a node', () => {
  it('names no shell, no getty and no interpreter but the runtime', () => {
    const { executables, enable, packages } = parseContents(contents, 'c')
    const names = executables.map((path) => path.replace(/^.*\//, ''))
    expect(names.filter((name) => /^(ba|da|z|k)?sh$|busybox|perl|python/.test(name))).toEqual([])
    expect(enable.filter(({ unit }) => /getty|debug-shell|rescue|ssh/.test(unit))).toEqual([])
    expect(packages.filter((name) => /^(bash|dash|busybox|openssh|login|sudo)/.test(name))).toEqual([])
  })
})
