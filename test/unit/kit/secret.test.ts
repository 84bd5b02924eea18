import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { Fault } from '#kit/fault'
import { createLog } from '#kit/log'
import { Lifetime } from '#kit/lifetime'
import { Secret } from '#kit/secret'

const MARKER = 'marker-5b1f'

describe('Secret', () => {
  it('shows nothing in text, JSON and inspection, and opens by name', () => {
    const secret = new Secret(MARKER)
    for (const shown of [
      `${String(secret)}`,
      JSON.stringify({ secret }),
      inspect({ secret }),
      inspect(secret, { showHidden: true }),
    ]) {
      expect(shown).not.toContain(MARKER)
    }
    expect(secret.reveal()).toBe(MARKER)
  })
})

describe('log', () => {
  const lines: string[] = []
  const log = createLog('test', { write: (line: string) => void lines.push(line) })

  it('writes one JSON object a line, with the process, the level and the sentence', () => {
    log.child({ rpc: '/a/B' }).warn('something happened', { count: 2 })
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({
      process: 'test',
      level: 'warn',
      message: 'something happened',
      rpc: '/a/B',
      count: 2,
    })
  })

  it('masks fields whose names hold secrets, one level down as well', () => {
    log.info('event', {
      password: MARKER,
      join: { password: MARKER, caKey: MARKER },
      secret: new Secret(MARKER),
    })
    expect(lines.at(-1)).not.toContain(MARKER)
  })

  it('keeps the causes of an error', () => {
    log.error('failed', { error: new Fault('outer', 'the outer one', { cause: new Error('the inner one') }) })
    expect(lines.at(-1)).toContain('the inner one')
  })
})

describe('Lifetime', () => {
  it('closes in reverse order, once, and goes on after a failure', async () => {
    const closed: string[] = []
    const lifetime = new Lifetime()
    lifetime.onClose(() => void closed.push('first'))
    lifetime.onClose(() => {
      throw new Error('stuck')
    })
    lifetime.onClose(() => void closed.push('last'))
    await expect(lifetime[Symbol.asyncDispose]()).rejects.toThrow(AggregateError)
    await lifetime[Symbol.asyncDispose]()
    expect(closed).toEqual(['last', 'first'])
  })
})
