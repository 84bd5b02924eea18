import { mkdtempSync, readFileSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LogFile } from '../../../agent/init/log-file.ts'

describe('a log file of init', () => {
  let folder: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'stele-log-'))
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  it('loses lines on a full disk and throws nothing', () => {
    const path = join(folder, 'core.log')
    symlinkSync('/dev/full', path)
    const log = new LogFile(folder, 'core')
    expect(() => {
      log.append('one\n')
      log.append('two\n')
    }).not.toThrow()
    unlinkSync(path)
    writeFileSync(path, '')
    // There is room again.
    const again = new LogFile(folder, 'core')
    again.append('three\n')
    expect(readFileSync(path, 'utf8')).toBe('three\n')
    log.close()
    again.close()
  })

  it('turns over without losing what comes next', () => {
    const log = new LogFile(folder, 'core', { maxBytes: 4 })
    log.append('first\n')
    log.append('second\n')
    expect(readFileSync(join(folder, 'core.older.log'), 'utf8')).toBe('first\n')
    expect(readFileSync(join(folder, 'core.log'), 'utf8')).toBe('second\n')
    log.close()
  })
})
