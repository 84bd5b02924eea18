import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  chooseContext,
  defaultConfigPath,
  loadContexts,
  mergeContext,
  mergeContexts,
  parseContexts,
  removeContext,
  renameContext,
  type Context,
  type Contexts,
} from '../../../agent/cli/context.ts'

const certificate = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'
const context = (endpoint = '127.0.0.1:50000'): Context => ({
  nodes: [{ name: 'cp-1', endpoint }],
  authorities: certificate,
  certificate,
  privateKey: '-----BEGIN PRIVATE KEY-----\nMARKER\n-----END PRIVATE KEY-----\n',
})

let directory = ''
let path = ''

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'stele-context-'))
  path = join(directory, 'deep', 'config.yaml')
})

afterEach(async () => {
  await rm(directory, { recursive: true, force: true })
})

describe('defaultConfigPath', () => {
  it('prefers $STELECTL_CONFIG, then $XDG_CONFIG_HOME, then the home folder; an empty value is no value', () => {
    expect(defaultConfigPath({ STELECTL_CONFIG: '/a', XDG_CONFIG_HOME: '/x', HOME: '/h' })).toBe('/a')
    expect(defaultConfigPath({ STELECTL_CONFIG: '', XDG_CONFIG_HOME: '/x' })).toBe('/x/stele/config.yaml')
    expect(defaultConfigPath({ HOME: '/h' })).toBe('/h/.config/stele/config.yaml')
  })
})

describe('the file of contexts', () => {
  it('is made with mode 0600, holds what was merged, and leaves nothing beside it', async () => {
    await mergeContext(path, 'demo', context(), { makeCurrent: true })
    await mergeContext(path, 'reader', context('[::1]:50000'))
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect(await loadContexts(path)).toEqual({
      version: 1,
      current: 'demo',
      contexts: { demo: context(), reader: context('[::1]:50000') },
    })
    expect(await readdir(join(directory, 'deep'))).toEqual(['config.yaml'])
  })

  it('loses a removed context, and its currency', async () => {
    await mergeContext(path, 'demo', context(), { makeCurrent: true })
    expect(await removeContext(path, 'demo')).toEqual({ version: 1, contexts: {} })
    expect(await removeContext(path, 'demo')).toEqual({ version: 1, contexts: {} })
  })

  it('is refused when others may read it, with the way to mend it', async () => {
    await mergeContext(path, 'demo', context())
    await chmod(path, 0o640)
    await expect(loadContexts(path)).rejects.toMatchObject({
      code: 'context_file_permissions',
      hint: `chmod 600 ${path}`,
    })
  })

  it('is replaced behind a link, not instead of it', async () => {
    await mergeContext(path, 'demo', context())
    const link = join(directory, 'link.yaml')
    await symlink(path, link)
    await mergeContext(link, 'second', context())
    expect(Object.keys((await loadContexts(path)).contexts)).toEqual(['demo', 'second'])
  })

  it('is told missing with the way to get one', async () => {
    await expect(loadContexts(path)).rejects.toMatchObject({ code: 'context_file_missing' })
  })

  it('keeps the old file when a new context is malformed', async () => {
    await mergeContext(path, 'demo', context())
    const before = await readFile(path, 'utf8')
    await expect(mergeContext(path, 'bad name', context())).rejects.toMatchObject({
      code: 'context_file_invalid',
    })
    await expect(mergeContext(path, 'x', { ...context(), authorities: '' })).rejects.toMatchObject({
      code: 'context_file_invalid',
    })
    expect(await readFile(path, 'utf8')).toBe(before)
  })

  it('names every problem by its path and quotes nothing of the file', async () => {
    const bad = {
      version: 1,
      contexts: { demo: { ...context('MARKER:x:y'), extra: 'MARKER', privateKey: 'MARKER' } },
    }
    await writeFile(join(directory, 'bad.yaml'), JSON.stringify(bad), { mode: 0o600 })
    const error: unknown = await loadContexts(join(directory, 'bad.yaml')).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'context_file_invalid' })
    const message = (error as Error).message
    expect(message).toContain('contexts.demo.privateKey: PEM is expected here')
    expect(message).toContain('contexts.demo.nodes.0.endpoint')
    expect(message).toContain('contexts.demo: unknown key')
    expect(message).not.toContain('MARKER')
  })

  it.each([
    ['text that is no YAML', '{"a": ['],
    ['a key given twice (BR-024)', 'version: 1\nversion: 1\ncontexts: {}\n'],
    ['another version', 'version: 2\ncontexts: {}\n'],
    ['an alias', 'version: 1\ncontexts: &a {}\ncurrent: *a\n'],
    [
      'two nodes of one name',
      JSON.stringify({
        version: 1,
        contexts: { d: { ...context(), nodes: [...context().nodes, ...context().nodes] } },
      }),
    ],
  ])('refuses %s', async (_what, text) => {
    await expect(parseContexts(text, 'f')).rejects.toMatchObject({ code: 'context_file_invalid' })
  })
})

describe('renameContext', () => {
  const base = { version: 1 as const, current: 'a', contexts: { a: context(), b: context('10.0.0.2') } }

  it('keeps the context, and that it is current', () => {
    expect(renameContext(base, 'a', 'c')).toEqual({
      version: 1,
      current: 'c',
      contexts: { b: base.contexts.b, c: base.contexts.a },
    })
  })

  it('refuses a name that is taken, and one that is not there', () => {
    expect(() => renameContext(base, 'a', 'b')).toThrow(expect.objectContaining({ code: 'context_exists' }))
    expect(() => renameContext(base, 'x', 'y')).toThrow(expect.objectContaining({ code: 'context_unknown' }))
  })
})

describe('mergeContexts', () => {
  const base: Contexts = { version: 1, current: 'a', contexts: { a: context(), b: context() } }

  it('lets the added one win and keeps the current one', () => {
    const merged = mergeContexts(base, { version: 1, current: 'b', contexts: { b: context('10.0.0.1') } })
    expect(merged.current).toBe('a')
    expect(merged.contexts['b']).toEqual(context('10.0.0.1'))
  })

  it('takes a current one where there was none', () => {
    expect(
      mergeContexts({ version: 1, contexts: {} }, { version: 1, contexts: { z: context() } }).current,
    ).toBe('z')
  })
})

describe('chooseContext', () => {
  const contexts: Contexts = { version: 1, contexts: { a: context(), b: context() } }

  it('says which contexts there are when the named one is not among them', () => {
    expect(() => chooseContext(contexts, 'toString')).toThrow(
      expect.objectContaining({ code: 'context_unknown', hint: 'known contexts: a, b' }),
    )
  })

  it('asks for a choice when none is current', () => {
    expect(() => chooseContext(contexts, undefined)).toThrow(
      expect.objectContaining({ code: 'context_missing' }),
    )
  })
})
