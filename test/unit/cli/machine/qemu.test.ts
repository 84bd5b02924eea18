import { describe, expect, it } from 'vitest'
import type { Image } from '../../../../agent/cli/machine/image.ts'
import type { MachineNeeds } from '../../../../agent/cli/machine/machine.ts'
import { qemuArguments } from '../../../../agent/cli/machine/qemu.ts'

const image: Image = {
  ...{ folder: '/i', disk: '/i/disk', uki: '/i/uki', kernel: '/i/kernel', initrd: '/i/initrd' },
  commandLine: 'quiet',
  manifest: { version: '1', rootHash: '', rootBytes: 0, executables: [], artifacts: [], components: [] },
}

/** What follows each argument that is `option`. */
function valuesOf(option: string, needs: Partial<MachineNeeds>): readonly string[] {
  const whole = { boot: 'kernel', name: 'a', folder: '/m', ...needs } as const
  const disk = `${whole.folder}/${whole.name}.disk`
  const files = {
    disk,
    variables: '/v',
    seed: undefined,
    ports: new Map(),
    acceleration: 'emulation',
  } as const
  const list = qemuArguments(image, whole, files)
  return list.filter((_, index) => list[index - 1] === option)
}

describe('the identity of a machine (BR-112)', () => {
  const uuid = (needs: Partial<MachineNeeds>) => valuesOf('-uuid', needs)[0] ?? ''

  it('is a UUID that stays for a name in a folder, and is no other machine’s', () => {
    expect(uuid({})).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(uuid({ folder: '/m/../m' })).toBe(uuid({}))
    expect(new Set([uuid({}), uuid({ name: 'b' }), uuid({ folder: '/n' })]).size).toBe(3)
  })

  it('is the one that was asked for', () => {
    const none = '00000000-0000-0000-0000-000000000000'
    expect(uuid({ uuid: none })).toBe(none)
  })
})

describe('the disks of a machine (BR-107)', () => {
  it('have serial numbers of their own, which tell a copy from what it was copied from', () => {
    const disks = valuesOf('-device', { secondDisk: '/m/copy.disk' }).filter((text) =>
      text.startsWith('virtio-blk'),
    )
    const serials = disks.map((text) => /serial=([0-9a-f]{20})$/.exec(text)?.[1])
    expect(serials).toHaveLength(2)
    expect(new Set([...serials, undefined]).size).toBe(3)
    expect(valuesOf('-device', { name: 'copy' })).toContainEqual(
      expect.stringContaining(`serial=${serials[1]}`),
    )
  })
})
