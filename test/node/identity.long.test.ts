/**
 * Who a machine is: by the UUID of its firmware, or by what STATE keeps where that names no single machine; and what a node says when its disk is in
 * another machine. Needs an image and QEMU.
 */
import { mkdtempSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ClientTls } from '#rpc'
import { call, GATEWAY, makeCluster, nodeKey, ready, type TestCluster } from './cluster.ts'
import { startMachine } from './machine.ts'
import { BOOT_MS } from './under-test.ts'

const NODE = 'cp-1'
const FIRST = '7b0e3a52-94c1-4d7f-8a36-0f1e2d3c4b5a'
const OTHER = '1c9d8e7f-6a5b-4c3d-9e2f-1a0b9c8d7e6f'
/** Left by a vendor in the firmware of many machines. */
const CONSTANT = '03000200-0400-0500-0006-000700080009'
const NONE = '00000000-0000-0000-0000-000000000000'
const GIB = 1024 ** 3
const plain = (uuid: string) => uuid.replaceAll('-', '')

let folder: string
let cluster: TestCluster
let tls: ClientTls
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'identity-'))
  cluster = await makeCluster(['10.0.2.15:50001'])
  tls = await cluster.tlsFor(NODE)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** One boot with an orderly end, which leaves its journal whole: what the machine was known as, and what it said. */
async function boot(name: string, uuid: string, userData: string | undefined) {
  const needs = { boot: 'kernel', name, folder, ports: [GATEWAY], uuid } as const
  await using machine = await startMachine(userData === undefined ? needs : { ...needs, userData })
  const { machineId, configDigest, findings } = await ready(machine, tls)
  const key = await nodeKey(machine, tls)
  const use = await call(machine, tls, ({ resource }, calling) => resource.get({}, calling))
  const stateBytes = Number(use.fileSystems.find(({ path }) => path === '/var')?.totalBytes ?? 0)
  const earlier = await call(machine, tls, async ({ log }, calling) => {
    const request = { service: 'core', follow: false, tailLines: 0, previousBoot: true }
    let text = ''
    for await (const { lines } of log.logs(request, calling)) text += Buffer.from(lines).toString()
    return text
  }).catch(String)
  await call(machine, tls, ({ system }, calling) => system.shutdown({}, calling))
  await machine.ended
  const kept = { key, configDigest }
  const codes = findings.map(({ code }) => code).sort()
  return { machineId, kept, codes, stateBytes, earlier, console: machine.console.lines().join('\n') }
}

describe('a machine', () => {
  let key: string
  let machineId: string

  it(
    'is the UUID of its firmware; in another one its disk is told, boot after boot, and its configuration stays, whatever user data says (BR-112, BR-113)',
    { timeout: 4 * BOOT_MS },
    async () => {
      const userData = cluster.userDataOf(NODE)
      const first = await boot('a', FIRST, userData)
      expect(first).toMatchObject({ machineId: plain(FIRST), codes: [] })
      key = first.kept.key
      machineId = first.machineId

      truncateSync(join(folder, 'a.disk'), 12 * GIB)
      const copied = await boot(
        'a',
        OTHER,
        userData.replace('kind: NodeConfig\n', 'kind: NodeConfig\nsysctls: { kernel.panic: "10" }\n'),
      )
      expect(copied.machineId).toBe(plain(OTHER))
      expect(copied.codes).toEqual(['machine_changed', 'user_data_changed'])
      expect(copied.kept).toEqual(first.kept)
      expect(copied.console).toContain('stele: attention: the disk was set up in another machine')
      expect(copied.stateBytes, 'STATE has what the disk has more (BR-102)').toBeGreaterThan(
        first.stateBytes + 3 * GIB,
      )

      const again = await boot('a', OTHER, undefined)
      expect(again).toMatchObject({ machineId: plain(OTHER), codes: ['machine_changed'], kept: first.kept })
      expect(again.earlier, 'the journal is found again').toContain('core ready')
    },
  )

  it(
    'keeps an identity of its own where the firmware has none, or one that others have too (BR-112)',
    { timeout: 4 * BOOT_MS },
    async () => {
      const first = await boot('b', CONSTANT, cluster.userDataOf(NODE))
      expect(first.machineId).toMatch(/^[0-9a-f]{32}$/)
      expect([plain(CONSTANT), plain(NONE), machineId]).not.toContain(first.machineId)
      expect(first.kept.key).not.toBe(key)
      expect(first.codes).toEqual([])

      const again = await boot('b', NONE, cluster.userDataOf(NODE))
      expect(again).toMatchObject({ machineId: first.machineId, kept: first.kept, codes: [] })
      expect(again.earlier, 'the journal is found again').toContain('core ready')
    },
  )
})
