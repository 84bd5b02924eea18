/** The whole chain: firmware, boot loader, UKI, verified root, units. Needs an image and QEMU. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Image } from '../../agent/cli/machine/image.ts'
import { startMachine } from './machine.ts'
import { BOOT_MS, imageUnderTest } from './under-test.ts'

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
    { timeout: 2 * BOOT_MS },
    async () => {
      const wrong = image.commandLine.replace(
        image.manifest.rootHash,
        image.manifest.rootHash.replace(/^./, (digit) => (digit === '0' ? '1' : '0')),
      )
      await using machine = await startMachine({
        boot: 'kernel',
        image: { ...image, commandLine: `${wrong} systemd.default_device_timeout_sec=20` },
        name: 'wrong',
        folder,
      })
      await machine.console.waitFor(
        /reboot: Restarting system|Emergency: reboot|Timed out waiting for device/,
        { deadlineMs: BOOT_MS },
      )
      expect(machine.console.lines().join('\n')).not.toMatch(/multi-user|Press Enter|[#$] $/)
    },
  )
})

describe('the manifest of the image', () => {
  it('names the root hash that the kernel was given, and no program that is a shell', () => {
    expect(image.commandLine).toContain(`roothash=${image.manifest.rootHash}`)
    expect(image.commandLine).toContain('lockdown=integrity')
    expect(image.manifest.executables.length).toBeLessThanOrEqual(90)
    expect(image.manifest.executables.filter((path) => /\/(ba|da|z|k)?sh$/.test(path))).toEqual([])
  })

  it('holds neither this machine’s paths nor its mirror', () => {
    const text = ['manifest.json', 'sbom.spdx.json']
      .map((name) => readFileSync(join(image.folder, name), 'utf8'))
      .join('')
    expect(text).not.toMatch(/https?:\/\/(?!spdx)|\.cache/)
  })
})
