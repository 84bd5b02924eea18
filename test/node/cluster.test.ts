/** Two machines of one image: user data on NoCloud disks, the worker's certificate from the control plane's trust, and power by the API. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MachineState, NodeRole, RebootMode } from '#api'
import { Lifetime } from '#kit/lifetime'
import type { ClientTls } from '#rpc'
import { judgeIntegrity } from '../../agent/cli/integrity.ts'
import type { Machine, MachineLink } from '../../agent/cli/machine/machine.ts'
import { freePort } from '../../agent/cli/cluster/port.ts'
import { call, GATEWAY, makeCluster, nodeKey, ready, type TestCluster } from './cluster.ts'
import { startMachine } from './machine.ts'
import { BOOT_MS, imageUnderTest } from './under-test.ts'

const lifetime = new Lifetime()
const MASK = '255.255.255.0'

let folder: string
let cluster: TestCluster
let admin: { readonly controlPlane: ClientTls; readonly worker: ClientTls }
let controlPlane: Machine
let worker: Machine
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'node-'))
  lifetime.onClose(() => rmSync(folder, { recursive: true, force: true }))
  cluster = await makeCluster(['192.168.77.11:50001'])
  admin = { controlPlane: await cluster.tlsFor('cp-1'), worker: await cluster.tlsFor('worker-1') }
  const port = await freePort('127.0.0.1', 0)
  const link = (last: number): MachineLink => ({
    port,
    mac: `52:54:00:77:00:${last}`,
    address: `192.168.77.${last}`,
    mask: MASK,
  })
  const shared = { folder, ports: [GATEWAY] }
  controlPlane = await startMachine({
    ...{ ...shared, boot: 'firmware', name: 'cp-1', network: 2, link: link(11) },
    userData: cluster.userDataOf('cp-1'),
  })
  lifetime.onClose(() => controlPlane.powerCut())
  worker = await startMachine({
    ...{ ...shared, boot: 'kernel', name: 'worker-1', network: 3, link: link(12) },
    userData: cluster.userDataOf('worker-1'),
  })
  lifetime.onClose(() => worker.powerCut())
}, BOOT_MS)
afterAll(() => lifetime[Symbol.asyncDispose]())

describe('a control plane and a worker from one image', { timeout: 2 * BOOT_MS }, () => {
  it('are what their NoCloud disks say', async () => {
    expect(await ready(controlPlane, admin.controlPlane)).toMatchObject({
      ...{ node: 'cp-1', role: NodeRole.CONTROL_PLANE, state: MachineState.RUNNING, configRevision: 1n },
    })
    const { sources } = await call(controlPlane, admin.controlPlane, ({ system }, calling) =>
      system.getBootSource({}, calling),
    )
    expect(sources.map(({ kind }) => kind).join()).toContain('nocloud')
  })

  it('get the worker’s certificate from the control plane’s trust, for another key and within its name', async () => {
    expect(await ready(worker, admin.worker)).toMatchObject({ node: 'worker-1', role: NodeRole.WORKER })
    const { enrolments } = await call(controlPlane, admin.controlPlane, ({ credential }, calling) =>
      credential.listEnrolments({}, calling),
    )
    expect(enrolments.map(({ node }) => node)).toEqual(['worker-1'])
    expect(await nodeKey(worker, admin.worker)).not.toBe(await nodeKey(controlPlane, admin.controlPlane))
  })

  it('are the image and nothing else, by what each tells of itself', async () => {
    const { manifest } = imageUnderTest()
    for (const [machine, tls] of [
      [controlPlane, admin.controlPlane],
      [worker, admin.worker],
    ] as const) {
      const answer = await call(
        machine,
        tls,
        ({ integrity }, calling) => integrity.getIntegrity({}, calling),
        {
          deadlineMs: BOOT_MS,
        },
      )
      expect(judgeIntegrity(answer, manifest).filter(({ verdict }) => verdict !== 'ok')).toEqual([])
    }
  })

  it('refuse a reboot by a reader, with the role it would need', async () => {
    const reader = await cluster.tlsFor('worker-1', 'stele:reader')
    const reboot = call(worker, reader, ({ system }, calling) => system.reboot({}, calling))
    await expect(reboot).rejects.toMatchObject({ status: 'permission_denied' })
  })

  it('reboot by the API: another boot, the same key and configuration', async () => {
    const before = await ready(worker, admin.worker)
    const key = await nodeKey(worker, admin.worker)
    await call(worker, admin.worker, ({ system }, calling) =>
      system.reboot({ mode: RebootMode.UNSPECIFIED }, calling),
    )
    const after = await ready(worker, admin.worker, { notBoot: before.bootId })
    const { node, configDigest, configRevision } = before
    expect(after).toMatchObject({ node, configDigest, configRevision })
    expect(await nodeKey(worker, admin.worker)).toBe(key)
  })

  it('tell what they use, each service and each part of the boot', async () => {
    const use = await call(worker, admin.worker, ({ resource }, calling) => resource.get({}, calling))
    expect(use.services.map(({ name }) => name)).toEqual(['core', 'gateway'])
    expect(use.services.every(({ residentBytes }) => (residentBytes ?? 0n) > 10_000_000n)).toBe(true)
    expect(use.bootPhases.map(({ name }) => name)).toEqual(['kernel', 'initrd', 'userspace'])
    expect(use.fileSystems.map(({ path }) => path)).toContain('/var')
  })

  it('end when the API shuts them down', async () => {
    await call(worker, admin.worker, ({ system }, calling) => system.shutdown({}, calling))
    await worker.ended
  })
})
