import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { directoryHost } from '../../../agent/core/local/host.ts'
import type { HostFile } from '../../../agent/core/ports.ts'
import { diskFileSystem } from '../../../agent/core/store/file-system.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'stele-host-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const write = (file: Partial<HostFile>) =>
  directoryHost(diskFileSystem, root).writeFiles([
    { path: '/etc/stele/a', content: Buffer.from('text'), mode: 0o640, ...file },
  ])

describe('the host of the embedded mode', () => {
  it('writes a file with its mode and its bytes', () => {
    const bytes = Buffer.from([0, 255, 10, 200])
    write({})
    write({ path: '/etc/stele/b', content: bytes })
    const at = (name: string) => join(root, 'files/etc/stele', name)
    expect(readFileSync(at('a'), 'utf8')).toBe('text')
    expect(statSync(at('a')).mode & 0o777).toBe(0o640)
    expect(readFileSync(at('b'))).toEqual(bytes)
  })

  it.each(['/../../outside', '/etc/../../outside', '/..'])(
    'writes nothing outside its folder for %s',
    (path) => {
      expect(() => write({ path })).not.toThrow(TypeError)
      expect(existsSync(join(root, 'outside'))).toBe(false)
      expect(existsSync(join(root, '..', 'outside'))).toBe(false)
    },
  )

  it('does not follow a link out of its folder', () => {
    mkdirSync(join(root, 'files'), { recursive: true })
    symlinkSync(tmpdir(), join(root, 'files/etc'))
    expect(() => write({ path: '/etc/outside' })).toThrow(expect.objectContaining({ code: 'file_refused' }))
  })

  it('says that a file cannot be written when a folder is in its place', () => {
    mkdirSync(join(root, 'files/etc/stele/a/inside'), { recursive: true })
    expect(() => write({})).toThrow(expect.objectContaining({ code: 'file_refused' }))
  })
})
