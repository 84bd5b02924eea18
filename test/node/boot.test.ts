/** The whole chain: firmware, boot loader, UKI, verified root, units. Needs an image and QEMU. */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Image } from '../../agent/cli/machine/image.ts'
import { startMachine } from './machine.ts'
import { destroy, partitionOf } from './state-partition.ts'
import { BOOT_MS, imageUnderTest } from './under-test.ts'

const GIVES_UP = /reboot: Restarting system|Emergency: reboot/
const USABLE = /multi-user|Press Enter|[#$] $/
const IMPATIENT = 'systemd.default_device_timeout_sec=20'
/** From the beginning of the partition, in bytes. */
const EROFS_SUPERBLOCK = 1024

let image: Image
let folder: string
beforeAll(() => {
  image = imageUnderTest()
  folder = mkdtempSync(join(tmpdir(), 'node-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('a node from the image', () => {
  it(
    'boots through firmware to a running system, and again after a power cut, with STATE kept',
    { timeout: 4 * BOOT_MS },
    async () => {
      const needs = { boot: 'firmware', name: 'chain', folder } as const
      {
        await using machine = await startMachine(needs)
        await machine.console.waitFor(/Finished systemd-repart/, { deadlineMs: BOOT_MS })
        await machine.console.waitFor(/Mounted var\.mount/, { deadlineMs: BOOT_MS })
        await machine.console.waitFor(/Reached target multi-user\.target/, { deadlineMs: BOOT_MS })
        const text = machine.console.lines().join('\n')
        expect(text).not.toMatch(/login:|emergency mode|\[FAILED\].*(mount|systemd-)/i)
        await machine.powerCut()
      }
      await using machine = await startMachine(needs)
      await machine.console.waitFor(/Mounted var\.mount/, { deadlineMs: BOOT_MS })
      await machine.console.waitFor(/Reached target multi-user\.target/, { deadlineMs: BOOT_MS })
    },
  )

  it(
    'does not boot when one byte of its root is another: it reboots, and no shell appears',
    async () => {
      const disk = join(folder, 'changed.raw')
      copyFileSync(image.disk, disk)
      const root = partitionOf(disk, `stele_${image.manifest.version}`)
      destroy(disk, [{ offset: root.offset + EROFS_SUPERBLOCK, length: 1 }])
      const impatient = { ...image, commandLine: `${image.commandLine} ${IMPATIENT}` }
      await using machine = await startMachine({
        ...{ boot: 'kernel', image: impatient, name: 'changed', folder, disk },
      })
      await machine.console.waitFor(GIVES_UP, { deadlineMs: BOOT_MS })
      expect(machine.console.lines().join('\n')).not.toMatch(USABLE)
    },
    BOOT_MS,
  )

  it(
    'does not boot when its root is not the one of its command line',
    async () => {
      const wrong = image.commandLine.replace(
        image.manifest.rootHash,
        image.manifest.rootHash.replace(/^./, (digit) => (digit === '0' ? '1' : '0')),
      )
      const other = { ...image, commandLine: `${wrong} ${IMPATIENT}` }
      await using machine = await startMachine({ boot: 'kernel', image: other, name: 'wrong', folder })
      await machine.console.waitFor(GIVES_UP, { deadlineMs: BOOT_MS })
      expect(machine.console.lines().join('\n')).not.toMatch(USABLE)
    },
    BOOT_MS,
  )
})
