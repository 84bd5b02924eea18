import { appendFileSync, mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { LogChunk } from '../../../agent/core/ports.ts'
import { fileLogs } from '../../../agent/core/local/logs.ts'
import { LogFile } from '../../../agent/init/log-file.ts'
import { systemClock } from '../../../agent/kit/clock.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'stele-log-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const reader = () => fileLogs({ log: directory, audit: directory }, systemClock)
const query = (more: object = {}) => ({
  follow: false,
  tailLines: 0,
  previousBoot: false,
  signal: AbortSignal.timeout(20_000),
  ...more,
})
const read = async (more: object = {}) => {
  let text = ''
  for await (const chunk of reader().read('gateway', query(more))) text += chunk.lines.toString()
  return text
}
const openFiles = () =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(directory)
    } catch {
      return false
    }
  }).length

describe('logs of the embedded mode', () => {
  it('gives all lines, the last ones, and those of the boot before', async () => {
    const file = new LogFile(directory, 'gateway', { maxBytes: 4 })
    for (const line of ['one\n', 'two\n', 'three\n']) file.append(line)
    expect(await read()).toBe('two\nthree\n')
    expect(await read({ tailLines: 1 })).toBe('three\n')
    file.startBoot()
    file.append('new\n')
    file.close()
    expect(await read()).toBe('new\n')
    expect(await read({ previousBoot: true })).toBe('two\nthree\n')
  })

  it('has no lines where there is no file', async () => {
    expect(await read()).toBe('')
  })

  it('follows over a turn of the file without losing or repeating a line, and lets go of it', async () => {
    const file = new LogFile(directory, 'gateway', { maxBytes: 6 })
    file.append('0\n')
    const stop = new AbortController()
    let text = ''
    const following = (async () => {
      for await (const chunk of reader().read('gateway', query({ follow: true, signal: stop.signal }))) {
        text += chunk.lines.toString()
        const last = Number(text.trim().split('\n').at(-1))
        if (last === 20) stop.abort(new Error('enough'))
        else file.append(`${last + 1}\n`)
      }
    })()
    await expect(following).rejects.toThrow('enough')
    expect(text.trim().split('\n').map(Number)).toEqual(Array.from({ length: 21 }, (_, i) => i))
    file.close()
    expect(openFiles()).toBe(0)
  })

  it('counts lines that were turned away before a slow reader came to them (BR-061)', async () => {
    const file = new LogFile(directory, 'gateway', { maxBytes: 4 })
    file.append('one\n')
    const lines = reader()
      .read('gateway', query({ follow: true }))
      [Symbol.asyncIterator]()
    const next = async (): Promise<LogChunk> => {
      const result = await lines.next()
      if (result.done === true) throw new Error('the log ended')
      return result.value
    }
    expect((await next()).lines.toString()).toBe('one\n')
    for (const line of ['two\n', 'three\n', 'four\n']) file.append(line)
    expect((await next()).dropped).toBeGreaterThan(0)
    expect((await next()).lines.toString()).toBe('four\n')
    await lines.return?.()
    file.close()
    expect(openFiles()).toBe(0)
  })

  it('lets go of every file when 200 followers come and go (BR-061)', async () => {
    writeFileSync(join(directory, 'gateway.log'), 'line\n')
    for (let i = 0; i < 200; i += 1) {
      for await (const _chunk of reader().read('gateway', query({ follow: true }))) break
    }
    expect(openFiles()).toBe(0)
  })

  it('reads a big file in pieces at the pace of the reader (BR-061)', async () => {
    appendFileSync(join(directory, 'gateway.log'), `${'x'.repeat(99)}\n`.repeat(200_000))
    let largest = 0
    let bytes = 0
    for await (const chunk of reader().read('gateway', query())) {
      largest = Math.max(largest, chunk.lines.length)
      bytes += chunk.lines.length
    }
    expect(bytes).toBe(20_000_000)
    expect(largest).toBeLessThan(128 * 1024)
  })
})
