import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { startHeartbeat } from '../../../images/heartbeat.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

it('writes a line each ten seconds while a step runs, and none when none does or after its end', () => {
  const lines: string[] = []
  const events: string[] = []
  {
    using heartbeat = startHeartbeat((event) => void events.push(event.kind), {
      write: (line) => void lines.push(line),
      now: () => Date.now(),
    })
    vi.advanceTimersByTime(10_000)
    expect(lines).toEqual([])
    heartbeat.report({ kind: 'started', step: 'uml-kernel' })
    vi.advanceTimersByTime(20_000)
    expect(lines).toEqual(['…            uml-kernel 10 s\n', '…            uml-kernel 20 s\n'])
    heartbeat.report({ kind: 'done', step: 'uml-kernel', ms: 20_000 })
    vi.advanceTimersByTime(20_000)
    expect(lines).toHaveLength(2)
    heartbeat.report({ kind: 'started', step: 'manifest' })
  }
  vi.advanceTimersByTime(20_000)
  expect(lines).toHaveLength(2)
  expect(events).toEqual(['started', 'done', 'started'])
})
