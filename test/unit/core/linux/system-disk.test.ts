import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  judgeDisks,
  observeDisks,
  type DisksSeen,
  type Partition,
} from '../../../../agent/core/linux/system-disk.ts'

const MIB = 1024 ** 2
const part = (name: string, label: string): Partition => ({ name, disk: name.slice(0, -1), label, end: MIB })
/** What a disk of a node has, by the version of its system. */
const node = (disk: string, version = '1') => [
  part(`${disk}1`, 'esp'),
  part(`${disk}2`, `stele_${version}`),
  part(`${disk}3`, `stele_${version}_verity`),
  part(`${disk}4`, 'state'),
]
const seen = (partitions: readonly Partition[], more: Partial<DisksSeen> = {}): DisksSeen => ({
  root: ['vda2', 'vda3'],
  stateDisk: 'vda',
  partitions,
  disks: new Map(
    ['vda', 'vdb', 'vdc'].map((disk) => [disk, { bytes: 8 * 1024 * MIB, id: `serial-${disk}` }]),
  ),
  ...more,
})

describe('judgeDisks (BR-107)', () => {
  it('has nothing to say of one disk, nor of others without our partitions', () => {
    expect(judgeDisks(seen(node('vda')), undefined)).toEqual({ kind: 'alone' })
    expect(judgeDisks(seen([...node('vda'), part('vdb1', 'data')]), 'serial-vda')).toEqual({
      kind: 'alone',
    })
    expect(judgeDisks(seen([], { root: ['ubda'], stateDisk: 'ubdb' }), 'x')).toEqual({ kind: 'alone' })
    expect(judgeDisks(seen([], { root: [], stateDisk: undefined }), 'x')).toEqual({ kind: 'alone' })
  })

  it('tells of a copy, and works with the STATE that it knows', () => {
    const both = seen([...node('vda'), ...node('vdb')])
    const told = {
      kind: 'told',
      message: 'the disks vda and vdb hold the same system; the node works with the STATE on vda',
      remedy: 'detach the copy',
    }
    expect(judgeDisks(both, 'serial-vda')).toEqual(told)
    expect(judgeDisks(both, undefined)).toEqual(told)
  })

  it('does not work with the STATE of a copy, when it was made on another disk', () => {
    expect(judgeDisks(seen([...node('vda'), ...node('vdb')]), 'serial-vdb')).toEqual({
      kind: 'ambiguous',
      reason: "the disks vda and vdb hold the same system, and the STATE on vda is another disk's",
    })
  })

  it('takes a disk that was replaced by its copy: nothing else is there', () => {
    expect(judgeDisks(seen(node('vda')), 'serial-of-the-old-one')).toEqual({ kind: 'alone' })
  })

  it('tells of an installer that is plugged in: our system without a STATE', () => {
    const stick = node('vdb').slice(0, 3)
    expect(judgeDisks(seen([...node('vda'), ...stick]), 'serial-vdb')).toMatchObject({ kind: 'told' })
  })

  it('tells of a STATE of another system, and does not use it', () => {
    expect(judgeDisks(seen([...node('vda'), ...node('vdc', '2')]), 'serial-vda')).toEqual({
      kind: 'told',
      message: 'there is a partition `state` on vdc too; it is not used',
      remedy: 'detach the disk, if it is not meant to be here',
    })
  })

  it('works with nothing when STATE is on another disk than the root, the root is on two, or one disk has two of them', () => {
    const beside = seen([...node('vda'), ...node('vdb')], { stateDisk: 'vdb' })
    expect(judgeDisks(beside, 'serial-vdb')).toEqual({
      kind: 'ambiguous',
      reason: 'the system is on the disk vda, and STATE is on vdb',
    })
    const split = seen([...node('vda'), ...node('vdb')], { root: ['vda2', 'vdb3'] })
    expect(judgeDisks(split, 'serial-vda')).toEqual({
      kind: 'ambiguous',
      reason: 'the system is on the disks vda and vdb, and STATE is on vda',
    })
    const twice = seen([...node('vda'), part('vda5', 'state')])
    expect(judgeDisks(twice, 'serial-vda')).toEqual({
      kind: 'ambiguous',
      reason: 'the disk vda has more than one partition `state`',
    })
  })

  it('still tells of a copy when STATE is not mounted at all', () => {
    const both = seen([...node('vda'), ...node('vdb')], { stateDisk: undefined })
    expect(judgeDisks(both, 'serial-vdb')).toMatchObject({ kind: 'told' })
  })
})

describe('observeDisks', () => {
  let sys: string
  beforeEach(() => {
    sys = mkdtempSync(join(tmpdir(), 'sys-'))
    mkdirSync(join(sys, 'class/block'), { recursive: true })
    mkdirSync(join(sys, 'dev/block'), { recursive: true })
  })
  afterEach(() => rmSync(sys, { recursive: true }))

  /** One device as the kernel shows it: a folder below its bus, and links to it by name and by number. */
  function device(path: string, number: string, files: Readonly<Record<string, string>>): void {
    const folder = join(sys, 'devices', path)
    mkdirSync(folder, { recursive: true })
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), `${text}\n`)
    const name = path.split('/').at(-1) ?? ''
    symlinkSync(folder, join(sys, 'class/block', name))
    symlinkSync(folder, join(sys, 'dev/block', number))
  }
  const mounts = [
    '20 1 252:0 / / ro,relatime - erofs /dev/mapper/root ro',
    '30 20 254:6 / /var rw,nosuid,nodev - ext4 /dev/vda6 rw',
  ].join('\n')

  it('finds the root below its verified device, the disk of STATE, and what each partition is', () => {
    device('pci0/virtio1/block/vda', '254:0', { size: '16777216', serial: 'abc' })
    const uevent = 'DEVTYPE=partition\nPARTN=2\nPARTNAME=stele_0.1.0'
    device('pci0/virtio1/block/vda/vda2', '254:2', { partition: '2', start: '2048', size: '2048', uevent })
    device('pci0/virtio1/block/vda/vda6', '254:6', {
      partition: '6',
      start: '4096',
      size: '4096',
      uevent: 'PARTNAME=state',
    })
    device('pci0/virtio2/block/vdb', '254:16', { size: '2048' })
    device('virtual/block/dm-0', '252:0', { size: '2048' })
    mkdirSync(join(sys, 'devices/virtual/block/dm-0/slaves/vda2'), { recursive: true })
    const found = observeDisks({ mountinfo: mounts, directory: '/var/lib/stele', sys })
    expect(found.root).toEqual(['vda2'])
    expect(found.stateDisk).toBe('vda')
    expect(found.partitions).toEqual([
      { name: 'vda2', disk: 'vda', label: 'stele_0.1.0', end: 2 * MIB },
      { name: 'vda6', disk: 'vda', label: 'state', end: 4 * MIB },
    ])
    expect(found.disks.get('vda')).toEqual({ bytes: 8192 * MIB, id: 'abc' })
    expect(found.disks.get('vdb')).toEqual({ bytes: MIB, id: `at ${join(sys, 'devices/pci0/virtio2')}` })
  })

  it('tells no disk where the kernel tells none: memory in place of STATE, devices that are gone', () => {
    const lost = mounts.replace(
      '254:6 / /var rw,nosuid,nodev - ext4 /dev/vda6',
      '0:40 / /var rw - tmpfs volatile',
    )
    symlinkSync(join(sys, 'gone'), join(sys, 'class/block/vdz'))
    expect(observeDisks({ mountinfo: lost, directory: '/var/lib/stele', sys })).toEqual({
      root: [],
      stateDisk: undefined,
      partitions: [],
      disks: new Map(),
    })
    const absent = observeDisks({ mountinfo: '', directory: '/var/lib/stele', sys: join(sys, 'none') })
    expect(absent.partitions).toEqual([])
  })
})
