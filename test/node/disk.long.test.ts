/** Other disks than the node was made for: a copy of its own beside it, and one that is too small. Needs an image and QEMU. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ClientTls } from '#rpc'
import type { Machine, MachineNeeds } from '../../agent/cli/machine/machine.ts'
import { GATEWAY, makeCluster, nodeKey, ready } from './cluster.ts'
import { startMachine } from './machine.ts'
import { digestOfRegions, partitionOf, superblocksOf } from './state-partition.ts'
import { BOOT_MS, imageUnderTest } from './under-test.ts'

const NODE = 'cp-1'
const MIB = 1024 ** 2
let folder: string
let userData: string
let tls: ClientTls
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'disk-'))
  const cluster = await makeCluster(['10.0.2.15:50001'])
  userData = cluster.userDataOf(NODE)
  tls = await cluster.tlsFor(NODE)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function start(name: string, more: Partial<MachineNeeds> = {}): Promise<Machine> {
  return startMachine({ boot: 'kernel', folder, ports: [GATEWAY], userData, ...more, name })
}

/** Everything that the machine said until it told what to do about being stuck. */
async function stuck(machine: Machine): Promise<string> {
  await machine.console.waitFor(/^stele: fix: /, { deadlineMs: BOOT_MS })
  return machine.console.lines().join('\n')
}

/** The superblock of STATE changes whenever it is mounted to be written to. */
function stateOf(disk: string): string {
  return digestOfRegions(disk, superblocksOf(partitionOf(disk)).slice(0, 1))
}

describe('a copy of the disk beside it (BR-107)', () => {
  it(
    'is told and not touched; a machine that was started from the copy works with neither',
    { timeout: 5 * BOOT_MS },
    async () => {
      const [disk, copy] = [join(folder, 'node.disk'), join(folder, 'copy.disk')]
      let first: { readonly key: string; readonly digest: string }
      const identity = async (machine: Machine) => {
        const { configDigest, findings } = await ready(machine, tls)
        return {
          key: await nodeKey(machine, tls),
          digest: configDigest,
          codes: findings.map(({ code }) => code),
        }
      }
      {
        await using machine = await start('node')
        const { codes, ...kept } = await identity(machine)
        expect(codes).toEqual([])
        first = kept
        await machine.powerCut()
      }
      execFileSync('cp', ['--sparse=always', disk, copy])
      {
        const before = stateOf(copy)
        await using machine = await start('node', { secondDisk: copy })
        expect(await identity(machine)).toEqual({ ...first, codes: ['disk_copied'] })
        await machine.console.waitFor(/^stele: attention: the disks vda and vdc hold the same system/, {
          deadlineMs: BOOT_MS,
        })
        await machine.powerCut()
        expect(stateOf(copy)).toBe(before)
      }
      const before = stateOf(disk)
      await using machine = await start('copy', { secondDisk: disk })
      const said = await stuck(machine)
      expect(said).toMatch(
        /stele: stuck: the disks vda and vdc hold the same system, and the STATE on vda is another/,
      )
      expect(said).toMatch(/stele: Stele \S+ {2}\S+ {2}in quarantine/)
      expect(said).not.toMatch(/stele: Stele .* running/)
      await machine.powerCut()
      expect(stateOf(disk)).toBe(before)
    },
  )
})

describe('a disk that is too small (BR-103)', () => {
  it(
    'is told with what it has and what is needed, and its table stays as it is',
    { timeout: 2 * BOOT_MS },
    async () => {
      const table = [{ offset: 0, length: MIB }]
      const before = digestOfRegions(imageUnderTest().disk, table)
      await using machine = await start('small', { diskGiB: 1514 / 1024 })
      const said = await stuck(machine)
      expect(said).toContain(
        'stele: stuck: the disk vda has 1514 MiB and this image needs 1614 MiB: there is no room for STATE',
      )
      await machine.powerCut()
      expect(digestOfRegions(join(folder, 'small.disk'), table)).toBe(before)
    },
  )
})
