import { describe, expect, it } from 'vitest'
import { bytesNeeded, noRoom } from '../../../../agent/core/linux/disk-room.ts'
import type { DisksSeen } from '../../../../agent/core/linux/system-disk.ts'

const MIB = 1024 ** 2
const definition = (size: string) => `[Partition]\nType=root\n${size === '' ? '' : `SizeMinBytes=${size}\n`}`

describe('bytesNeeded (BR-103)', () => {
  it('adds what is missing to what is there, and room for the backup of the table', () => {
    const definitions = ['', '512M', '16M', '256M'].map(definition)
    expect(bytesNeeded(definitions, [301 * MIB, 813 * MIB])).toBe((813 + 16 + 256 + 1) * MIB)
    expect(bytesNeeded(definitions, [])).toBe((1 + 10 + 512 + 16 + 256 + 1) * MIB)
  })

  it('needs no more than is used when nothing is missing, in whole MiB', () => {
    expect(bytesNeeded([definition('1G')], [5 * MIB + 1])).toBe(7 * MIB)
  })

  it('reads sizes as repart.d(5) writes them, and takes the least for what it cannot read', () => {
    const size = (text: string) => bytesNeeded([definition(text)], []) - 2 * MIB
    expect([size('1024K'), size('3M'), size('1G'), size('2T'), size('1048576')]).toEqual(
      [1, 3, 1024, 2 * 1024 ** 2, 1].map((mebibytes) => mebibytes * MIB),
    )
    expect([size('lots'), size('-1M'), size('9999999999999M')]).toEqual([10 * MIB, 10 * MIB, 10 * MIB])
  })
})

describe('noRoom (BR-103)', () => {
  const partition = (name: string, label: string, end: number) =>
    ({ name, disk: name.slice(0, -1), label, end: end * MIB }) as const
  const seen = (bytes: number, more: readonly ReturnType<typeof partition>[] = []): DisksSeen => ({
    root: ['vda2', 'vda3'],
    stateDisk: undefined,
    partitions: [partition('vda2', 'stele_1', 813), partition('vdb1', 'state', 9000), ...more],
    disks: new Map([['vda', { bytes, id: 'a' }]]),
  })
  const definitions = ['512M', '16M', '256M'].map(definition)
  const needed = (813 + 16 + 256 + 1) * MIB

  it('says what there is and what is needed, in one line of a console', () => {
    const text = noRoom(seen(needed - 1), definitions) ?? ''
    expect(text).toBe('the disk vda has 1085 MiB and this image needs 1086 MiB: there is no room for STATE')
    expect(`stele: stuck: ${text}`.length).toBeLessThan(160)
  })

  it('has nothing to say of a disk that is large enough or has a STATE, nor of one that it does not know', () => {
    expect(noRoom(seen(needed), definitions)).toBeUndefined()
    expect(noRoom(seen(1, [partition('vda4', 'state', 900)]), definitions)).toBeUndefined()
    expect(noRoom({ ...seen(1), root: [] }, definitions)).toBeUndefined()
  })
})
