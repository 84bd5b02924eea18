import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseContents, parseEpoch, parseProfile, readProfile } from '../../../images/profile.ts'

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

describe('a path in the contents', () => {
  it.each([
    ['remove:', 'remove:\n  - usr/../../etc'],
    ['executables:', 'executables:\n  - ../bin/sh'],
    ['libraries:', 'libraries:\n  - ../libc.so'],
    ['enable:', 'enable:\n  - { unit: ../../x.service, target: a.target }'],
    ['enable:', 'enable:\n  - { unit: x.service, target: ../../../../etc }'],
    ['enable:', 'enable:\n  - { unit: .., target: a.target }'],
    ['disable:', 'disable:\n  - ../../../../../etc'],
    ['udevRules:', 'udevRules:\n  - ../../x.rules'],
    ['  executables:', '  executables:\n    - usr/bin/..'],
    ['  units:', '  units:\n    - ../x.target'],
  ])('that leads out of the root is refused (%s %j)', (section, text) => {
    const changed = contents.replace(new RegExp(`^${section}$`, 'm'), text)
    expect(changed).not.toBe(contents)
    expect(() => parseContents(changed, 'c')).toThrow(
      expect.objectContaining({ code: 'profile_invalid', message: expect.stringMatching(/^c: /) as string }),
    )
  })

  it('may hold two dots in a name', () => {
    expect(parseContents(contents.replace('  - boot\n', '  - usr/a..b\n'), 'c').remove[0]).toBe('usr/a..b')
  })
})

describe('the file of a profile', () => {
  it('is refused at once when it is a pipe, a folder, a device or too long', () => {
    const folder = mkdtempSync(join(tmpdir(), 'images-profile-'))
    try {
      execFileSync('mkfifo', [join(folder, 'pipe')])
      writeFileSync(join(folder, 'long'), '#'.repeat(1024 * 1024 + 1))
      const why = {
        pipe: /plain file/,
        long: /larger than 1024 KiB/,
        '.': /plain file/,
        none: /there is no profile/,
      }
      for (const [name, reason] of Object.entries(why)) {
        expect(() => readProfile(join(folder, name), images)).toThrow(reason)
      }
      expect(() => readProfile('/dev/zero', images)).toThrow(
        expect.objectContaining({ code: 'profile_invalid' }),
      )
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

describe('the name of a profile that is none', () => {
  it('is answered with those that there are', () => {
    expect(() => readProfile('nosuch', images)).toThrow(
      expect.objectContaining({
        message: 'there is no profile nosuch',
        hint: expect.stringMatching(/one of qemu-amd64, uml-amd64, or/) as string,
      }),
    )
  })
})

describe('an alias in a document', () => {
  it('is refused, with the name of the document', () => {
    const text = profile.replace(/^name: .*$/m, (line) => `${line.replace(': ', ': &a ')}\nseed2: *a`)
    expect(() => parseProfile(text, 'p.yaml')).toThrow(
      expect.objectContaining({ code: 'profile_invalid', message: 'p.yaml: aliases are not allowed' }),
    )
  })
})

describe('SOURCE_DATE_EPOCH', () => {
  it.each(['', '0', '-5', '1.5', '0x10', '1e12', 'abc', 'Infinity', ' 1', '4294967296', '9007199254740991'])(
    'is refused as %j',
    (text) => {
      expect(() => parseEpoch(text)).toThrow(expect.objectContaining({ code: 'profile_invalid' }))
    },
  )

  it('is taken as seconds', () => {
    expect(parseEpoch('1767225600')).toBe(1_767_225_600)
  })
})
