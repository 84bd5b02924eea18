/** The wire between machines: a node's own address on it, seen from outside. Needs an image and QEMU. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listenOnWire } from '../../agent/cli/machine/link.ts'
import { freePort } from '../../agent/cli/cluster/port.ts'
import { startMachine } from './machine.ts'
import { BOOT_MS } from './under-test.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'node-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('a wire between machines', () => {
  it(
    'carries frames of a node whose address the kernel argument names',
    { timeout: 2 * BOOT_MS },
    async () => {
      const port = await freePort('127.0.0.1', 0)
      const mac = '52:54:00:77:00:11'
      const link = { port, mac, address: '192.168.77.11', mask: '255.255.255.0' }
      await using wire = await listenOnWire(port)
      const frame = wire.frameFrom(mac, BOOT_MS)
      await using machine = await startMachine({ boot: 'kernel', name: 'wire', folder, link })
      expect((await Promise.race([frame, machine.ended])) instanceof Buffer).toBe(true)
    },
  )
})
