import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Audit } from '../../../agent/core/audit.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'stele-audit-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const clock = { now: () => new Date(0), monotonic: () => 0, sleep: async () => undefined }
const entry = { who: undefined, from: '::1', what: 'a/B', outcome: 'ok', ms: 1 }
function logTo(lines: string[]) {
  const log = {
    info: () => undefined,
    warn: () => undefined,
    error: (line: string) => void lines.push(line),
    child: () => log,
  }
  return log
}

describe('Audit', () => {
  it('writes one JSON line for each call, readable by its owner alone, and turns when it is full', () => {
    const audit = new Audit({ directory, clock, log: logTo([]), maxBytes: 150 })
    for (let i = 0; i < 4; i += 1) audit.record({ ...entry, ms: i })
    audit.close()
    const read = (name: string) =>
      readFileSync(join(directory, name), 'utf8')
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { ms: number }).ms)
    expect([...read('audit.older.log'), ...read('audit.log')]).toEqual([0, 1, 2, 3])
    expect(statSync(join(directory, 'audit.log')).mode & 0o777).toBe(0o600)
  })

  it('does not stop a call when the disk fails, and says so in the log', () => {
    const lines: string[] = []
    const audit = new Audit({ directory, clock, log: logTo(lines) })
    audit.close()
    expect(() => audit.record(entry)).not.toThrow()
    expect(lines).toEqual(['audit record lost'])
  })
})
