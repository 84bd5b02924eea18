/** What is particular to machines of User-Mode Linux: they are programs of this host, and leave nothing on it. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { GATEWAY } from './cluster.ts'
import { startMachine } from './machine.ts'
import { BOOT_MS } from './under-test.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'uml-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Numbers of the processes whose command names `word`. */
function processesOf(word: string): readonly string[] {
  return readdirSync('/proc').filter((number) => {
    if (!/^\d+$/.test(number)) return false
    try {
      return readFileSync(`/proc/${number}/cmdline`, 'utf8').includes(word)
    } catch {
      // It ended while we looked.
      return false
    }
  })
}

describe('a machine of User-Mode Linux', () => {
  it('leaves no process and no way in after a power cut', { timeout: BOOT_MS }, async () => {
    const machine = await startMachine({ boot: 'uml', name: 'gone', folder, ports: [GATEWAY] })
    await machine.console.waitFor(/Reached target/, { deadlineMs: BOOT_MS })
    expect(processesOf(folder)).not.toEqual([])
    const port = machine.port(GATEWAY)
    await machine.powerCut()
    expect(processesOf(folder)).toEqual([])
    const socket = connect({ host: '127.0.0.1', port })
    await expect(new Promise((_, reject) => socket.once('error', reject))).rejects.toThrow(/ECONNREFUSED/)
  })
})
