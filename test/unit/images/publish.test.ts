import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { publish, requireOut } from '../../../images/publish.ts'

const NAMES = ['disk.raw', 'manifest.json', 'cmdline']

let folder: string
let out: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'images-publish-'))
  out = join(folder, 'out')
  mkdirSync(out)
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Files of one build, whose text is its name. */
function made(build: string): readonly string[] {
  mkdirSync(join(folder, build), { recursive: true })
  return NAMES.map((name) => {
    writeFileSync(join(folder, build, name), build)
    return join(folder, build, name)
  })
}
const texts = () => NAMES.map((name) => readFileSync(join(out, name), 'utf8'))

describe('publish', () => {
  it('replaces an image, and leaves nothing beside it', async () => {
    await publish(made('old'), out, copyFile)
    await publish(made('new'), out, copyFile)
    expect(texts()).toEqual(['new', 'new', 'new'])
    expect(readdirSync(out).sort()).toEqual([...NAMES].sort())
  })

  it('leaves the old image whole when a copy fails, at any of them', async () => {
    await publish(made('old'), out, copyFile)
    for (const last of [0, 1, 2]) {
      let copies = 0
      const fail = async (from: string, to: string) => {
        copyFileSync(from, to)
        if (copies++ === last) throw new Error('disk full')
      }
      await expect(publish(made('new'), out, fail)).rejects.toThrow('disk full')
      expect(texts()).toEqual(['old', 'old', 'old'])
      expect(readdirSync(out).sort()).toEqual([...NAMES].sort())
    }
  })

  it('has no manifest while files of two builds are there', async () => {
    await publish(made('old'), out, copyFile)
    // A folder of this name takes no file: the renaming ends there, as a kill would end it.
    rmSync(join(out, 'cmdline'))
    mkdirSync(join(out, 'cmdline/x'), { recursive: true })
    await expect(publish(made('new'), out, copyFile)).rejects.toThrow()
    expect(readFileSync(join(out, 'disk.raw'), 'utf8')).toBe('new')
    expect(existsSync(join(out, 'manifest.json'))).toBe(false)
  })

  it('does not write through a link that lies where a part goes', async () => {
    writeFileSync(join(folder, 'victim'), 'mine')
    symlinkSync(join(folder, 'victim'), join(out, 'cmdline.partial'))
    await publish(made('new'), out, copyFile)
    expect(readFileSync(join(folder, 'victim'), 'utf8')).toBe('mine')
    expect(texts()).toEqual(['new', 'new', 'new'])
  })
})

describe('the folder that an image goes to', () => {
  it('is made, and left empty', () => {
    requireOut(join(folder, 'a/b'))
    expect(readdirSync(join(folder, 'a/b'))).toEqual([])
  })

  it('is refused when it is a file, a link that leads nowhere, or takes no files', () => {
    writeFileSync(join(folder, 'file'), '')
    symlinkSync('nowhere', join(folder, 'link'))
    for (const path of [join(folder, 'file'), join(folder, 'link'), '/proc', '/proc/x']) {
      expect(() => requireOut(path)).toThrow(
        expect.objectContaining({ code: 'refused', hint: expect.stringMatching(/--out/) as string }),
      )
      expect(() => requireOut(path)).toThrow(`${path} takes no files: E`)
    }
  })
})
