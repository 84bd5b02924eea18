/** STATE that is damaged: what the journal can mend is mended, and what it cannot is told and left as it is. Needs an image and QEMU. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ClientTls } from '#rpc'
import type { Machine } from '../../agent/cli/machine/machine.ts'
import { GATEWAY, makeCluster, nodeKey, ready } from './cluster.ts'
import { startMachine } from './machine.ts'
import { destroy, digestOfRegions, partitionOf, superblocksOf } from './state-partition.ts'
import { BOOT_MS } from './under-test.ts'

const name = 'cp-1'
const STUCK = /^stele: stuck: STATE cannot be mounted/
let folder: string
let disk: string
let userData: string
let tls: ClientTls
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'node-'))
  disk = join(folder, `${name}.disk`)
  const cluster = await makeCluster(['10.0.2.15:50001'])
  userData = cluster.userDataOf(name)
  tls = await cluster.tlsFor(name)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function start(): Promise<Machine> {
  const needs = { boot: 'kernel', name, folder, ports: [GATEWAY], userData } as const
  return startMachine(needs)
}

/** Waits until the node says that it is stuck; everything that it said of itself. */
async function stuck(machine: Machine): Promise<string> {
  await machine.console.waitFor(STUCK, { deadlineMs: BOOT_MS })
  await machine.console.waitFor(/^stele: fix: /, { deadlineMs: BOOT_MS })
  return machine.console.lines().join('\n')
}

describe('STATE', () => {
  let first: { readonly key: string; readonly digest: string }
  const identity = async (machine: Machine) => {
    const status = await ready(machine, tls)
    return { key: await nodeKey(machine, tls), digest: status.configDigest }
  }

  it('is replayed after a power cut, and the node is the same one', { timeout: 3 * BOOT_MS }, async () => {
    {
      await using machine = await start()
      first = await identity(machine)
      await machine.powerCut()
    }
    await using machine = await start()
    expect(await identity(machine)).toEqual(first)
  })

  it(
    'that cannot be mounted is told, boot after boot, and stays as it is: nothing is formatted, enrolled or taken from user data',
    { timeout: 4 * BOOT_MS },
    async () => {
      const regions = superblocksOf(partitionOf(disk))
      const mend = destroy(disk, regions)
      const before = digestOfRegions(disk, regions)
      for (const boot of [1, 2]) {
        await using machine = await start()
        const said = await stuck(machine)
        expect(said, `boot ${boot}`).toMatch(/stele: Stele \S+ {2}\S+ {2}in quarantine/)
        expect(said).not.toMatch(/stele: Stele .* running|login:|emergency/i)
        await machine.powerCut()
        expect(digestOfRegions(disk, regions)).toBe(before)
      }
      mend()
      await using machine = await start()
      expect(await identity(machine), 'nothing else of STATE was touched').toEqual(first)
    },
  )
})
