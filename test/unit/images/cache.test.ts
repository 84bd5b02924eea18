import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Cache } from '../../../images/cache.ts'

const SIGNATURE = 'Signature: 8a477f597d28d172789f06886806bc55'
const KEY = '0123456789abcdef'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'images-cache-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Opens the cache and leaves it. */
function touch(path = folder): void {
  new Cache(path)[Symbol.dispose]()
}

describe('a cache that is only asked', () => {
  it('tells what it holds, and is not made', async () => {
    const path = join(folder, 'new')
    expect(Cache.has(path, 'root', KEY)).toBe(false)
    expect(existsSync(path)).toBe(false)
    using cache = new Cache(path)
    await cache.fill('root', KEY, () => Promise.resolve())
    expect(Cache.has(path, 'root', KEY)).toBe(true)
  })
})

describe('the folder of a cache', () => {
  it('is tagged when it is new or empty, and is taken again', () => {
    for (const path of [folder, join(folder, 'a/b')]) {
      touch(path)
      touch(path)
      expect(readFileSync(join(path, 'CACHEDIR.TAG'), 'utf8').split('\n')[0]).toBe(SIGNATURE)
      rmSync(join(path, 'CACHEDIR.TAG'))
    }
  })

  it('is refused when it holds files and no tag, and nothing in it is touched', () => {
    mkdirSync(join(folder, 'root/x.partial'), { recursive: true })
    expect(() => new Cache(folder)).toThrow(
      expect.objectContaining({
        code: 'refused',
        hint: expect.stringMatching(/--cache/) as string,
      }),
    )
    expect(() => new Cache(folder)).toThrow(folder)
    expect(readdirSync(folder, { recursive: true })).toEqual(['root', 'root/x.partial'])
  })

  it('is refused when its tag is that of another program', () => {
    writeFileSync(join(folder, 'CACHEDIR.TAG'), `${SIGNATURE}\n# created by cargo\n`)
    expect(() => new Cache(folder)).toThrow(/no cache of image builds/)
  })

  it('is taken when a build was killed while it wrote the tag', () => {
    writeFileSync(join(folder, 'CACHEDIR.TAG'), '')
    touch()
    expect(readFileSync(join(folder, 'CACHEDIR.TAG'), 'utf8')).toContain(SIGNATURE)
  })

  it('is known by its own path, which is the same inside a tools tree, where a link leads to it', () => {
    mkdirSync(join(folder, 'own'))
    symlinkSync('own', join(folder, 'link'))
    using cache = new Cache(join(folder, 'link'))
    expect(cache.folder).toBe(realpathSync(join(folder, 'own')))
  })
})

describe('keep', () => {
  it('removes no name that is not a key', () => {
    using cache = new Cache(folder)
    for (const name of ['mine', KEY, 'fedcba9876543210', '00000000000000aa', '0123456789abcdef0']) {
      mkdirSync(join(folder, 'root', name), { recursive: true })
    }
    cache.keep('root', KEY)
    cache.keep('root', KEY)
    expect(readdirSync(join(folder, 'root')).sort()).toEqual(['.use', KEY, '0123456789abcdef0', 'mine'])
  })
})

describe('clear', () => {
  it('removes the outputs, and leaves the tag', () => {
    mkdirSync(join(folder, 'new'))
    using cache = new Cache(join(folder, 'new'))
    mkdirSync(join(folder, 'new/root', KEY), { recursive: true })
    cache.clear()
    expect(readdirSync(join(folder, 'new')).sort()).toEqual(['CACHEDIR.TAG', 'lock'])
    expect(existsSync(folder)).toBe(true)
  })
})

describe('the lock', () => {
  it('is told as what it is where it cannot be taken, and is not tried for ever', () => {
    touch()
    // A folder of this name can neither be replaced by a link nor removed as a file.
    mkdirSync(join(folder, 'lock/x'), { recursive: true })
    expect(() => new Cache(folder)).toThrow(expect.objectContaining({ code: 'refused' }))
    expect(readdirSync(folder).sort()).toEqual(['CACHEDIR.TAG', 'lock'])
  })

  it('is not waited for in a folder that takes no files', () => {
    expect(() => new Cache('/proc/x/cache')).toThrow('the cache /proc/x/cache takes no files: ENOENT')
  })

  it('of a build that was killed is taken over, and is gone when the build ends', () => {
    touch()
    writeFileSync(join(folder, 'lock'), '999999999')
    touch()
    expect(readdirSync(folder)).toEqual(['CACHEDIR.TAG'])
  })
})
