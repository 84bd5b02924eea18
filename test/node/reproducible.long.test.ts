/** Two builds of the same inputs, without anything remembered between them but downloads and compiled tools, are the same bytes. */
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, symlinkSync, mkdirSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, expect, it } from 'vitest'

const REPOSITORY = resolve(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'twice-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const run = (...args: readonly string[]) =>
  execFileSync(process.execPath, [join(REPOSITORY, 'images/main.ts'), ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })

it('builds the same image twice', { timeout: 900_000 }, () => {
  const shared = join(REPOSITORY, '.cache/images')
  const artifacts = ['first', 'second'].map((name) => {
    const cache = join(folder, name, 'cache')
    mkdirSync(cache, { recursive: true })
    copyFileSync(join(shared, 'CACHEDIR.TAG'), join(cache, 'CACHEDIR.TAG'))
    // What is no part of an image, and what only downloads, is shared; every step that makes bytes of the image runs twice.
    for (const step of ['go-tools', 'tools', 'packages', 'runtime', 'scratch']) {
      mkdirSync(join(cache, step))
      for (const key of readdirSync(join(shared, step)))
        symlinkSync(join(shared, step, key), join(cache, step, key))
    }
    const out = join(folder, name, 'out')
    run('build', 'qemu-amd64', '--out', out, '--cache', cache)
    return readFileSync(join(out, 'manifest.json'), 'utf8')
  })
  expect(artifacts[1]).toBe(artifacts[0])
})
