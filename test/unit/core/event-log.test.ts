import { describe, expect, it } from 'vitest'
import { EventLog } from '../../../agent/core/event-log.ts'
import { Crash, MemoryFileSystem } from './store/memory-file-system.ts'

const clock = { now: () => new Date(0), monotonic: () => 0, sleep: async () => undefined }
const open = (files: MemoryFileSystem, bootId = 'boot') =>
  new EventLog({ files, directory: '/state/events', clock, bootId: () => bootId })
const emit = (log: EventLog, count: number) => {
  for (let i = 0; i < count; i += 1) log.emit({ code: 'test.event', message: 'Something happened.' })
}
const signal = new AbortController().signal

describe('EventLog', () => {
  it('numbers events over restarts', async () => {
    const files = new MemoryFileSystem()
    emit(open(files), 3)
    const again = open(files, 'next')
    emit(again, 1)
    const seen = []
    for await (const event of again.watch(2, { follow: false, signal })) seen.push(event)
    expect(seen.map((event) => [event.sequence, event.bootId])).toEqual([
      [3, 'boot'],
      [4, 'next'],
    ])
  })

  it('keeps the last thousand in memory and on disk', () => {
    const files = new MemoryFileSystem()
    const log = open(files)
    emit(log, 2_500)
    expect([log.firstKept, log.lastSequence]).toEqual([1_501, 2_500])
    const again = open(files)
    expect([again.firstKept, again.lastSequence]).toEqual([1_501, 2_500])
  })

  it('never shows one number for two events, wherever the world ends', () => {
    for (let crashAt = 0; crashAt < 6; crashAt += 1) {
      const files = new MemoryFileSystem()
      const log = open(files)
      emit(log, 2)
      files.steps = 0
      files.crashAt = crashAt
      try {
        emit(log, 2)
      } catch (error) {
        expect(error).toBeInstanceOf(Crash)
      }
      const shown = log.lastSequence
      const next = files.afterCrash({ powerCut: true })
      const again = open(next)
      emit(again, 1)
      expect(again.lastSequence).toBeGreaterThan(shown)
      expect(open(next).lastSequence).toBe(again.lastSequence)
    }
  })

  it('wakes a follower, and lets it go with the reason of its signal', async () => {
    const log = open(new MemoryFileSystem())
    const stop = new AbortController()
    const events = log.watch(0, { follow: true, signal: stop.signal })
    const first = events.next()
    emit(log, 1)
    expect((await first).value).toMatchObject({ sequence: 1 })
    const second = events.next()
    stop.abort(new Error('left'))
    await expect(second).rejects.toThrow('left')
  })
})
