import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeFolder } from '../../../agent/kit/folder.ts'

let directory = ''
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'stele-folder-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

describe('makeFolder', () => {
  it('makes what is missing, of the mode that is asked for, and takes what is there', () => {
    const path = join(directory, 'a/b')
    makeFolder(path, 0o700)
    makeFolder(path, 0o700)
    expect(statSync(join(directory, 'a')).mode & 0o777).toBe(0o700)
    expect(statSync(path).isDirectory()).toBe(true)
  })

  it('ends with ENOENT where a folder takes none, and does not try for ever', () => {
    expect(() => makeFolder('/proc/x/y')).toThrow(expect.objectContaining({ code: 'ENOENT' }))
  })

  it('throws EEXIST for a file and for a link that leads nowhere, in the way or at the end', () => {
    writeFileSync(join(directory, 'file'), '')
    symlinkSync('nowhere', join(directory, 'link'))
    for (const path of ['file', 'link', 'file/a', 'link/a']) {
      expect(() => makeFolder(join(directory, path))).toThrow(expect.objectContaining({ code: 'EEXIST' }))
    }
  })
})
