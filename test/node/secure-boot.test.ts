/** Secure Boot: firmware that trusts one certificate boots what its key signed, and nothing that differs by a bit. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openImage, type Image } from '../../agent/cli/machine/image.ts'
import type { Tools } from '../../agent/cli/machine/tool.ts'
import { startMachine } from './machine.ts'
import { enrolKeys, flipBit, makeSigningKeys, offsetOf } from './secure-boot.ts'
import { BOOT_MS, REPOSITORY, toolsUnderTest } from './under-test.ts'

/** What firmware and boot loader say of a program whose signature is not good. */
const REFUSED = /Access Denied|Security Violation/i
/** The first word of the initrd. */
const STARTED = /Booting initrd|Switch Root/

let image: Image
let tools: Tools
let folder: string
let variables: string
beforeAll(async () => {
  tools = toolsUnderTest()
  folder = mkdtempSync(join(tmpdir(), 'secure-'))
  const keys = join(folder, 'keys')
  const out = join(folder, 'image')
  await makeSigningKeys(tools, keys)
  variables = await enrolKeys(tools, keys)
  const build = [
    join(REPOSITORY, 'images/main.ts'),
    'build',
    'qemu-amd64',
    '--out',
    out,
    '--secure-boot-keys',
    keys,
  ]
  execFileSync(process.execPath, build, { stdio: 'inherit' })
  image = openImage(out)
}, 600_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('firmware with our certificate alone', () => {
  it('does not boot an image that nobody signed', { timeout: 2 * BOOT_MS }, async () => {
    const needs = { boot: 'firmware', name: 'unsigned', folder, secureBootVariables: variables } as const
    await using machine = await startMachine(needs)
    await machine.console.waitFor(REFUSED, { deadlineMs: BOOT_MS })
    expect(machine.console.lines().join('\n')).not.toMatch(STARTED)
  })
})

describe('an image that is signed', () => {
  it('boots with Secure Boot on', { timeout: 2 * BOOT_MS }, async () => {
    const needs = { boot: 'firmware', name: 'signed', folder, secureBootVariables: variables } as const
    await using machine = await startMachine({ ...needs, image })
    await machine.console.waitFor(/Switch Root|Mounted var\.mount|Reached target multi-user\.target/, {
      deadlineMs: BOOT_MS,
    })
  })

  it('does not boot with one bit of its kernel image flipped', { timeout: 2 * BOOT_MS }, async () => {
    const disk = readFileSync(image.disk)
    const uki = readFileSync(image.uki)
    const middle = uki.subarray(uki.length >> 1, (uki.length >> 1) + 256)
    const flipped = join(folder, 'flipped.raw')
    flipBit(disk, offsetOf(disk, middle), flipped)
    const needs = {
      boot: 'firmware',
      name: 'flipped',
      folder,
      secureBootVariables: variables,
      disk: flipped,
    } as const
    await using machine = await startMachine({ ...needs, image })
    await machine.console.waitFor(REFUSED, {
      deadlineMs: BOOT_MS,
    })
    expect(machine.console.lines().join('\n')).not.toMatch(STARTED)
  })
})
