import * as grpc from '@grpc/grpc-js'
import { existsSync, writeFileSync } from 'node:fs'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  ConfigServiceService as config,
  MachineState,
  SystemServiceService as system,
} from '../../../agent/api/index.ts'
import { clientCertificate, controlPlaneData, eventually, stableCode, TestNode } from './harness.ts'

let admin: Buffer
let node: TestNode | undefined
beforeAll(async () => {
  admin = await clientCertificate(['stele:admin'])
})
afterEach(async () => {
  await node?.[Symbol.asyncDispose]()
  node = undefined
})
const status = async (one: TestNode) => (await one.call(system.getStatus, {}, admin)).status
const until = (one: TestNode, state: MachineState) =>
  eventually(
    async () => {
      const now = await status(one)
      return now?.state === state ? now : undefined
    },
    () => one.log('core'),
  )
const refusal = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: unknown) => ({ status: (error as grpc.ServiceError).code, code: stableCode(error) }),
  )
const BROKEN = `---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
notAField: MARKER-77aa
`

describe('a node whose user data is broken', () => {
  it('lets the administrators of the delivered authority in, with the reason, and takes a configuration from them', async () => {
    node = await TestNode.start((await controlPlaneData()) + BROKEN)
    const now = await until(node, MachineState.QUARANTINE)
    expect(now.findings.map((one) => one.message).join()).toMatch(/notAField|:\d+:\d+/)
    expect(JSON.stringify(now.findings) + node.log('core')).not.toContain('MARKER-77aa')
    const { sources } = await node.call(system.getBootSource, {}, admin)
    expect(sources).toMatchObject([{ kind: 'file', verdict: 'invalid' }])
    expect(existsSync(node.paths.gatewayIdentity)).toBe(true)
    expect(await node.call(system.version, {}, admin)).toMatchObject({ node: 'cp-1' })
    const reader = await clientCertificate(['stele:reader'])
    expect(await refusal(node.call(system.version, {}, reader))).toEqual({
      status: grpc.status.PERMISSION_DENIED,
      code: 'quarantine',
    })
    expect(await refusal(node.call(config.get, { version: 0 }, admin))).toMatchObject({
      status: grpc.status.FAILED_PRECONDITION,
    })
    const request = {
      document: await controlPlaneData(),
      expectedRevision: 0n,
      mode: 0,
      tryTimeout: undefined,
      dryRun: false,
      idempotencyKey: '',
    } as const
    expect(await node.call(config.apply, request, admin)).toMatchObject({ revision: 1n })
    await until(node, MachineState.RUNNING)
  })

  it.each([
    ['a shell script', '#!/bin/sh\necho MARKER\n'],
    ['a web page', '<!doctype html><html><body>MARKER</body></html>'],
    ['nothing', ''],
    ['a comment', '# nothing here\n'],
  ])('opens no door for %s, and comes up when the source is mended (BR-003, BR-004)', async (_what, data) => {
    node = await TestNode.start(data)
    const one = node
    await eventually(async () => (one.log('core').includes('"to":"quarantine"') ? true : undefined))
    expect(existsSync(one.paths.gatewayIdentity)).toBe(false)
    expect(await refusal(one.call(system.version, {}, admin))).toMatchObject({
      status: grpc.status.UNAUTHENTICATED,
    })
    expect(one.log('core')).not.toContain('MARKER')
    writeFileSync(one.userData, await controlPlaneData())
    await until(one, MachineState.RUNNING)
  })
})

describe('a node that has a configuration', () => {
  it('keeps it when the user data changes, and says so', async () => {
    node = await TestNode.start(await controlPlaneData())
    const first = await until(node, MachineState.RUNNING)
    const one = node
    writeFileSync(one.userData, await controlPlaneData('sysctls:\n  kernel.panic: "10"\n'))
    await one.ask({ command: 'reboot', forced: true })
    const next = await eventually(
      async () => {
        const now = await status(one)
        return now?.bootId !== first.bootId && now?.state === MachineState.RUNNING && now.findings.length > 0
          ? now
          : undefined
      },
      () => one.log('core'),
    )
    expect(next.findings.map((finding) => finding.code)).toEqual(['user_data_changed'])
    expect(next.configDigest).toBe(first.configDigest)
    const { sources } = await one.call(system.getBootSource, {}, admin)
    expect(sources.map((source) => source.verdict)).toEqual(['used', 'skipped'])
  })

  it('takes changed user data at the next boot while the first one has never led to a certificate', async () => {
    node = await TestNode.start('apiVersion: stele.dev/v1alpha1\nkind: NodeConfig\nhostname: cp-1\n')
    const one = node
    await eventually(async () => (one.log('core').includes('identity_refused') ? true : undefined))
    writeFileSync(one.userData, await controlPlaneData())
    await one.ask({ command: 'reboot', forced: true })
    const now = await until(one, MachineState.RUNNING)
    expect(now.configRevision).toBe(2n)
    expect(now.findings).toEqual([])
  })
})
