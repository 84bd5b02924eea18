import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { requireImageOf } from '../../../../agent/cli/cluster/machines.ts'
import { CliFault } from '../../../../agent/cli/fault.ts'
import { openImage, requireBootable, requireWhole } from '../../../../agent/cli/machine/image.ts'

const FILES = { 'disk.raw': 4096, vmlinuz: 100, 'initrd.zst': 50 }
const MANIFEST = {
  ...{ version: '1', rootHash: 'a'.repeat(64), rootBytes: 0, executables: [], components: [] },
  artifacts: Object.entries(FILES).map(([name, bytes]) => ({ name, bytes })),
}

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stele-image-'))
  await writeFile(join(folder, 'cmdline'), 'quiet')
  await writeFile(join(folder, 'manifest.json'), JSON.stringify(MANIFEST))
  for (const [name, bytes] of Object.entries(FILES)) {
    await writeFile(join(folder, name), '')
    await truncate(join(folder, name), bytes)
  }
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

describe('an image that machines are to boot', () => {
  it('is whole when each file is as long as the manifest says', () => {
    requireBootable(openImage(folder))
  })

  it.each(Object.keys(FILES))('is refused without %s, and when it is cut off', async (name) => {
    await truncate(join(folder, name), 10)
    expect(() => requireBootable(openImage(folder))).toThrow(name)
    await rm(join(folder, name))
    expect(() => requireBootable(openImage(folder))).toThrow(name)
  })

  it('is asked for some of its files alone, with what to do about them', async () => {
    await rm(join(folder, 'disk.raw'))
    requireWhole(openImage(folder), ['vmlinuz', 'initrd.zst'])
    await truncate(join(folder, 'vmlinuz'), 10)
    const fault = faultOf(() => requireWhole(openImage(folder), ['vmlinuz'], 'make it anew'))
    expect(fault).toMatchObject({ code: 'image_invalid', hint: 'make it anew' })
  })

  it('is another one when a cluster was begun with another root', () => {
    const begun = { name: 'demo', spec: { image: folder } }
    requireImageOf({ ...begun, rootHash: MANIFEST.rootHash })
    const fault = faultOf(() => requireImageOf({ ...begun, rootHash: 'b'.repeat(64) }))
    expect(fault.code).toBe('cluster_differs')
  })

  it.each(['{', '{}', JSON.stringify({ ...MANIFEST, rootHash: 'none' })])(
    'is refused with the manifest %s',
    async (text) => {
      await writeFile(join(folder, 'manifest.json'), text)
      expect(() => openImage(folder)).toThrow('not whole')
    },
  )

  it('is refused when its manifest lists no disk', async () => {
    await writeFile(join(folder, 'manifest.json'), JSON.stringify({ ...MANIFEST, artifacts: [] }))
    expect(() => requireBootable(openImage(folder))).toThrow('disk.raw')
  })

  it('is missing where there is no manifest, with the command that makes one', () => {
    const fault = faultOf(() => openImage(join(folder, 'none')))
    expect(fault.code).toBe('image_missing')
    expect(fault.hint).toContain('npm run image')
  })
})

function faultOf(act: () => unknown): CliFault {
  try {
    act()
  } catch (error) {
    if (error instanceof CliFault) return error
  }
  throw new Error('it was not refused')
}
