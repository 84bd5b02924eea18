import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { interruption } from '../../../agent/cli/failure.ts'
import { readInput, readStream, writePrivate } from '../../../agent/cli/file.ts'

let directory = ''

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'stele-file-'))
})

afterEach(async () => {
  await rm(directory, { recursive: true, force: true })
})

describe('writePrivate', () => {
  it('makes the folder and a file for its owner alone, and leaves nothing beside it', async () => {
    const path = join(directory, 'a', 'b.yaml')
    await writePrivate(path, 'one')
    await writePrivate(path, 'two')
    expect(await readFile(path, 'utf8')).toBe('two')
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect(await readdir(join(directory, 'a'))).toEqual(['b.yaml'])
  })

  it('makes a readable file private when it replaces it', async () => {
    const path = join(directory, 'open.yaml')
    await writeFile(path, 'one')
    await chmod(path, 0o644)
    await writePrivate(path, 'two')
    expect((await stat(path)).mode & 0o777).toBe(0o600)
  })

  it('refuses to replace a file when it must be new', async () => {
    const path = join(directory, 's.yaml')
    await writePrivate(path, 'one', { exclusive: true })
    await expect(writePrivate(path, 'two', { exclusive: true })).rejects.toMatchObject({
      code: 'file_exists',
    })
    expect(await readFile(path, 'utf8')).toBe('one')
  })
})

describe('a place that takes no files', () => {
  it.each([{ exclusive: true }, { exclusive: false }])('is an error, and soon (%j)', async (options) => {
    await expect(writePrivate('/proc/x/y/z.yaml', 'one', options)).rejects.toMatchObject({
      code: 'file_unwritable',
      message: '/proc/x/y/z.yaml cannot be written: ENOENT',
    })
    await writeFile(join(directory, 'plain'), '')
    await expect(writePrivate(join(directory, 'plain', 'z.yaml'), 'one', options)).rejects.toMatchObject({
      code: 'file_unwritable',
    })
  })
})

describe('readStream', () => {
  it('ends with the reason of its signal while nothing comes', async () => {
    const leaving = new AbortController()
    const reading = readStream(new PassThrough(), '<stdin>', { signal: leaving.signal })
    leaving.abort(interruption())
    await expect(reading).rejects.toMatchObject({ code: 'interrupted' })
  })
})

describe('readInput', () => {
  it('reads a file up to its cap and refuses one byte more', async () => {
    const path = join(directory, 'x')
    await writeFile(path, 'abcd')
    expect((await readInput(path, { maxBytes: 4 })).bytes.toString()).toBe('abcd')
    await expect(readInput(path, { maxBytes: 3 })).rejects.toMatchObject({ code: 'file_too_large' })
  })

  it('refuses what cannot be opened or read as a file', async () => {
    await expect(readInput(join(directory, 'none'))).rejects.toMatchObject({ code: 'file_unreadable' })
    await expect(readInput(directory)).rejects.toMatchObject({ code: 'file_unreadable' })
  })
})
