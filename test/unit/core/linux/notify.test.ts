import { describe, expect, it } from 'vitest'
import { keepAlive, openNotify, socketAddress } from '../../../../agent/core/linux/notify.ts'

describe('socketAddress', () => {
  it('writes paths and abstract names as the kernel reads them', () => {
    expect(socketAddress('/run/n')?.toString('latin1')).toBe('\x01\x00/run/n\x00')
    expect(socketAddress('@n')?.toString('latin1')).toBe('\x01\x00\x00n')
  })

  it.each(['', 'run/n', 'vsock:2:3', `/${'x'.repeat(108)}`])('takes %j for none', (address) => {
    expect(socketAddress(address)).toBeUndefined()
  })
})

describe('keepAlive', () => {
  it('tells it twice in the time that is given, and not at all without one', async () => {
    const stop = new AbortController()
    const said: string[] = []
    const slept: number[] = []
    const clock = {
      now: () => new Date(0),
      monotonic: () => 0,
      sleep: async (ms: number) => {
        slept.push(ms)
        if (slept.length === 3) stop.abort(new Error('done'))
      },
    }
    const options = { clock, signal: stop.signal }
    await keepAlive((message) => said.push(message), { ...options, watchdogUsec: '30000000' })
    expect(said).toEqual(['WATCHDOG=1', 'WATCHDOG=1', 'WATCHDOG=1'])
    expect(slept).toEqual([15_000, 15_000, 15_000])
    for (const watchdogUsec of [undefined, '', '0', 'x'])
      await keepAlive(() => expect.unreachable(), { ...options, watchdogUsec })
  })
})

describe('openNotify', () => {
  it('says nothing, and does not fail, where nobody listens', () => {
    openNotify(undefined)('READY=1')
    openNotify('/nowhere/notify')('READY=1')
  })
})
