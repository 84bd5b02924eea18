/** The wire between machines: a node's own address on it, seen from outside. Needs an image and QEMU. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findTools, openImage, type Image, type Tools } from './harness/image.ts'
import { listenOnWire } from './harness/link.ts'
import { freePort } from './harness/process.ts'
import { startQemu } from './harness/qemu.ts'

/** Ten times a quiet machine's: emulation shares its processors with whatever else runs. */
const BOOT_MS = 300_000

let image: Image
let tools: Tools
let folder: string
beforeAll(() => {
  image = openImage()
  tools = findTools()
  folder = mkdtempSync(join(tmpdir(), 'node-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('a wire between machines', () => {
  it(
    'carries frames of a node whose address the kernel argument names',
    { timeout: 2 * BOOT_MS },
    async () => {
      const port = await freePort()
      const mac = '52:54:00:77:00:11'
      const link = { port, mac, address: '192.168.77.11', mask: '255.255.255.0' }
      await using wire = await listenOnWire(port)
      const frame = wire.frameFrom(mac, BOOT_MS)
      await using machine = await startQemu(image, tools, { boot: 'kernel', name: 'wire', folder, link })
      expect((await Promise.race([frame, machine.ended])) instanceof Buffer).toBe(true)
    },
  )
})
