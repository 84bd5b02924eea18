/**
 * The life of a node, the same in both kinds of machine: configured by a NoCloud disk, rebooted by the API, cut off from power, shut down. QEMU shows that
 * it holds for the kernel and the verified root that are shipped; User-Mode Linux, that its machines may stand for them in longer tests.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MachineState, NodeRole, RebootMode } from '#api'
import { Lifetime } from '#kit/lifetime'
import type { ClientTls } from '#rpc'
import type { Machine } from '../../agent/cli/machine/machine.ts'
import { call, GATEWAY, makeCluster, nodeKey, ready } from './cluster.ts'
import { startMachine } from './machine.ts'
import { BOOT_MS } from './under-test.ts'

const NAME = 'cp-1'

describe.each(['kernel', 'uml'] as const)('a node, boot %s', { timeout: 2 * BOOT_MS }, (boot) => {
  const lifetime = new Lifetime()
  let folder: string
  let userData: string
  let tls: ClientTls
  let machine: Machine
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'life-'))
    lifetime.onClose(() => rmSync(folder, { recursive: true, force: true }))
    const cluster = await makeCluster(['10.0.2.15:50001'])
    userData = cluster.userDataOf(NAME)
    tls = await cluster.tlsFor(NAME)
    machine = await start()
    lifetime.onClose(() => machine.powerCut())
  }, BOOT_MS)
  afterAll(() => lifetime[Symbol.asyncDispose]())

  const start = () => startMachine({ boot, name: NAME, folder, ports: [GATEWAY], userData })
  /** What must outlive a boot, and the boot it was seen in. */
  const look = async (notBoot?: string) => {
    const began = performance.now()
    const status = await ready(machine, tls, notBoot === undefined ? {} : { notBoot })
    const seconds = ((performance.now() - began) / 1000).toFixed(1)
    process.stdout.write(`life: ${boot}: all services run after ${seconds} s\n`)
    const { node, role, state, configDigest, configRevision, bootId, machineId } = status
    return {
      bootId,
      kept: { node, role, state, configDigest, configRevision, machineId, key: await nodeKey(machine, tls) },
    }
  }

  it('is what its NoCloud disk says', async () => {
    expect((await look()).kept).toMatchObject({
      ...{ node: NAME, role: NodeRole.CONTROL_PLANE, state: MachineState.RUNNING, configRevision: 1n },
    })
    const { sources } = await call(machine, tls, ({ system }, calling) => system.getBootSource({}, calling))
    expect(sources.map(({ kind }) => kind).join()).toContain('nocloud')
  })

  it('reboots by the API: another boot, the same key, machine and configuration', async () => {
    const before = await look()
    await call(machine, tls, ({ system }, calling) =>
      system.reboot({ mode: RebootMode.UNSPECIFIED }, calling),
    )
    expect((await look(before.bootId)).kept).toEqual(before.kept)
  })

  it('is the same node after a power cut, in another boot', async () => {
    const before = await look()
    await machine.powerCut()
    machine = await start()
    const after = await look()
    expect(after.kept).toEqual(before.kept)
    expect(after.bootId).not.toBe(before.bootId)
    expect(machine.console.lines().join('\n')).not.toMatch(/Kernel panic|emergency mode|login:/i)
  })

  it('ends when the API shuts it down', async () => {
    await call(machine, tls, ({ system }, calling) => system.shutdown({}, calling))
    await machine.ended
  })
})
