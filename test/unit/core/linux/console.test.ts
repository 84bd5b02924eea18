import { describe, expect, it } from 'vitest'
import { Change } from '../../../../agent/core/change.ts'
import { consoleText } from '../../../../agent/core/linux/console.ts'
import { showOnConsole } from '../../../../agent/core/linux/platform.ts'
import type { WatchedNode } from '../../../../agent/core/ports.ts'

function node(over: Partial<WatchedNode>): WatchedNode {
  return {
    name: 'cp-1',
    view: { role: 'control-plane' },
    machine: { addresses: ['10.0.0.1'] },
    state: { kind: 'running' },
    findings: new Map(),
    change: new Change(),
    setFinding: () => undefined,
    ...over,
  }
}

describe('consoleText', () => {
  it('says what the node is, where, and in which state', () => {
    expect(consoleText(node({}), { version: '1.2.3' })).toBe(
      'stele: Stele 1.2.3  cp-1  running  control-plane\r\nstele: addresses 10.0.0.1\r\n',
    )
  })

  it('says why it is stuck, and what a finding asks for', () => {
    const text = consoleText(
      node({
        view: undefined,
        machine: { addresses: [] },
        state: { kind: 'quarantine', code: 'user_data', reasons: ['no configuration delivered by nocloud'] },
        findings: new Map([['x', { message: 'a file was damaged', remedy: 'look at the disk' }]]),
      }),
      { version: '1' },
    )
    expect(text).toContain('cp-1  in quarantine\r\n')
    expect(text).toContain('no address yet')
    expect(text).toContain('stuck: no configuration delivered by nocloud')
    expect(text).toContain('attention: a file was damaged (look at the disk)')
  })

  it('lets no value move the cursor, and no list fill the screen', () => {
    const text = consoleText(
      node({
        state: {
          kind: 'quarantine',
          code: 'user_data',
          reasons: [
            '\u001b[2J\u009b1m\r\nstele: all is well',
            'x'.repeat(500),
            ...Array<string>(50).fill('more'),
          ],
        },
      }),
      { version: '1' },
    )
    const lines = text.split('\r\n').slice(0, -1)
    expect(lines.length).toBeLessThanOrEqual(13)
    for (const line of lines) expect(line).toMatch(/^stele: [ -~]{1,160}$/)
  })
})

describe('showOnConsole', () => {
  it('writes when what it would say changed, and not otherwise', async () => {
    const stop = new AbortController()
    const change = new Change()
    let state: WatchedNode['state'] = { kind: 'running' }
    const written: string[] = []
    let sleeps = 0
    const clock = {
      now: () => new Date(0),
      monotonic: () => 0,
      sleep: async () => {
        sleeps += 1
        if (sleeps === 2) state = { kind: 'quarantine', code: 'user_data', reasons: [] }
        if (sleeps === 3) stop.abort(new Error('done'))
        change.notify()
      },
    }
    const watched = node({ change })
    Object.defineProperty(watched, 'state', { get: () => state })
    await showOnConsole(watched, {
      write: (text) => written.push(text),
      version: '1',
      clock,
      signal: stop.signal,
    })
    expect(written).toHaveLength(2)
    expect(written[1]).toContain('in quarantine')
  })
})
