import { describe, expect, it } from 'vitest'
import { eventLine } from '../../../agent/cli/command/event.ts'
import { lineData } from '../../../agent/cli/command/log.ts'
import { formatLine, Seen } from '../../../agent/cli/log-line.ts'

const TIME = '2026-01-02T03:04:05.678Z'

describe('formatLine', () => {
  it('prints one of our log objects as time, level, message and fields', () => {
    const error = { type: 'Error', message: 'no room', stack: 'Error: no room\n  at x' }
    const line = JSON.stringify({
      level: 'warn',
      time: TIME,
      process: 'core',
      tries: 2,
      why: 'a b',
      error,
      message: 'slow',
    })
    expect(formatLine(line)).toBe(`${TIME}  warn  slow  process=core tries=2 why="a b" error="no room"`)
  })

  it('prints a record of a call as time, who, roles, from, method, outcome and milliseconds', () => {
    const who = { commonName: 'ada', serial: 'ab', roles: ['stele:admin'] }
    const record = {
      at: TIME,
      who,
      from: '10.0.0.9',
      what: 'stele.agent.v1.SystemService/Reboot',
      outcome: 'ok',
      ms: 3,
    }
    expect(formatLine(JSON.stringify(record))).toBe(
      `${TIME}  ada  stele:admin  10.0.0.9  stele.agent.v1.SystemService/Reboot  ok  3 ms`,
    )
    expect(formatLine(JSON.stringify({ ...record, who: undefined }))).toContain(`${TIME}  -  -  10.0.0.9`)
  })

  it.each(['plain', '{broken', '[1]', '{"a":1}'])('leaves %s as it is', (line) => {
    expect(formatLine(line)).toBe(line)
  })

  it('lets no value steer the terminal or begin a line', () => {
    const line = JSON.stringify({ time: TIME, level: 'info', message: 'a\u001b[2J', x: 'b\nc\u202e' })
    expect(formatLine(line)).not.toMatch(/[\u001b\n\u202e]/)
  })
})

describe('lineData', () => {
  it('carries the object of a line that is one, else the line', () => {
    expect(lineData('cp-1', '{"a":1}')).toEqual({ node: 'cp-1', entry: { a: 1 } })
    expect(lineData('cp-1', 'text')).toEqual({ node: 'cp-1', line: 'text' })
  })
})

describe('eventLine', () => {
  it('ends with the details, which cannot steer the terminal', () => {
    const event = {
      sequence: 7n,
      at: new Date(0),
      bootId: 'b',
      code: 'machine.state',
      message: 'running',
      operationId: '',
      details: { from: 'booting', why: 'x\u001b]0;t\u0007 y' },
    }
    const line = eventLine('cp-1', event)
    expect(line).toMatch(
      /^1970-01-01T00:00:00.000Z {2}cp-1 {2}7 {2}machine.state {2}running {2}from=booting why="x/,
    )
    expect(line).not.toContain('\u001b')
  })
})

describe('Seen', () => {
  it('leaves out what was shown when a log is read again, and nothing else', () => {
    const seen = new Seen()
    const at = (second: number, n: number) => JSON.stringify({ time: `2026-01-02T03:04:0${second}Z`, n })
    for (const line of [at(1, 1), at(2, 1)]) expect(seen.take(line)).toBe(true)
    expect([at(1, 1), at(2, 1), at(2, 2), at(3, 1), 'plain', 'plain'].map((line) => seen.take(line))).toEqual(
      [false, false, true, true, true, true],
    )
  })
})
