import * as grpc from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  ConfigServiceService as config,
  EventServiceService,
  MachineState,
  ServiceServiceService,
  SystemServiceService as system,
  type ApplyRequest,
  type Event,
} from '../../../agent/api/index.ts'
import { clientCertificate, controlPlaneData, eventually, stableCode, TestNode } from './harness.ts'

let admin: Buffer
let node: TestNode
beforeAll(async () => {
  admin = await clientCertificate(['stele:admin'])
  node = await TestNode.start(await controlPlaneData())
  await running()
})
afterAll(() => node[Symbol.asyncDispose]())

const status = async () => {
  const answer = await node.call(system.getStatus, {}, admin)
  if (answer.status === undefined) throw new Error('no status')
  return answer.status
}
const running = (notBoot = '') =>
  eventually(
    async () => {
      const now = await status()
      return now.state === MachineState.RUNNING && now.bootId !== notBoot ? now : undefined
    },
    () => node.log('core'),
  )
const apply = (document: string, more: Partial<ApplyRequest> & { readonly expectedRevision: bigint }) =>
  node.call(
    config.apply,
    { document, mode: 0, tryTimeout: undefined, dryRun: false, idempotencyKey: '', ...more },
    admin,
  )
let count = 0
/** A valid document that is like no other. */
const changed = () => controlPlaneData(`sysctls:\n  vm.max_map_count: "${(count += 1) + 262_144}"\n`)
const refusal = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: unknown) => ({ status: (error as grpc.ServiceError).code, code: stableCode(error) }),
  )
const events = async () => {
  const call = node.stream(EventServiceService.watch, { afterSequence: 0n, tail: 0, follow: false }, admin)
  const seen: Event[] = []
  for await (const message of call as AsyncIterable<{ event?: Event }>)
    if (message.event) seen.push(message.event)
  return seen
}
const killCore = async () => {
  const pid = await node.coreUp()
  process.kill(pid, 'SIGKILL')
  await node.coreUp(pid)
}

describe('the configuration of a node', () => {
  it('is read masked, and as it is by administrators', async () => {
    const got = await node.call(config.get, { version: 0 }, admin)
    expect(got).toMatchObject({ revision: 1n, appliedBy: 'user data' })
    expect(got.document).not.toContain('PRIVATE KEY')
    expect((await node.call(config.getSecrets, { version: 0 }, admin)).document).toBe(
      await controlPlaneData(),
    )
  })

  it('changes by revision: dry run, apply, conflict, and the version before', async () => {
    const { configRevision: before } = await status()
    const document = await changed()
    const dry = await apply(document, { dryRun: true, expectedRevision: before })
    expect(dry.diff).toContain('max_map_count')
    expect(dry.diff).not.toContain('PRIVATE KEY')
    expect((await status()).configRevision).toBe(before)
    expect(await apply(document, { expectedRevision: before })).toMatchObject({
      revision: before + 1n,
      repeated: false,
    })
    expect(await refusal(apply(document, { expectedRevision: before }))).toEqual({
      status: grpc.status.ABORTED,
      code: 'revision_conflict',
    })
    expect(await node.call(config.get, { version: 2 }, admin)).toMatchObject({ revision: before })
  })

  it('refuses a document with every problem and none of its values', async () => {
    const { configRevision } = await status()
    const marker = 'MARKER-5e1f'
    const document = (await controlPlaneData()).replace(
      'hostname: cp-1',
      `hostname: "${marker}!"\nnotAField: ${marker}`,
    )
    const error = await apply(document, { expectedRevision: configRevision }).catch(
      (caught: unknown) => caught as grpc.ServiceError,
    )
    if (!(error instanceof Error)) throw new Error('accepted')
    expect(error.code).toBe(grpc.status.INVALID_ARGUMENT)
    expect(error.details).toMatch(/document:\d+:\d+/)
    expect(error.details).not.toContain(marker)
    const { findings } = await node.call(config.validate, { document }, admin)
    expect(findings.length).toBeGreaterThanOrEqual(2)
    expect(JSON.stringify(findings)).not.toContain(marker)
    expect(node.log('core')).not.toContain(marker)
  })

  it('outlives many and large documents to validate, and refuses those beyond a short queue', async () => {
    const reader = await clientCertificate(['stele:reader'], 'rita')
    const pid = await node.coreUp()
    const keys = Array.from({ length: 55 }, (_, i) => `${' '.repeat(i + 1)}${'k'.repeat(64)}:\n`).join('')
    const bomb = `a:\n${keys}${`${' '.repeat(57)}- 01\n`.repeat(14_000)}`
    expect(bomb.length).toBeGreaterThan(850_000)
    expect((await node.call(config.validate, { document: bomb }, reader)).findings).toHaveLength(1)
    const document = `a:\n${' - 01\n'.repeat(4_000)}`
    const { configRevision } = await status()
    const flood = Array.from({ length: 24 }, () => refusal(node.call(config.validate, { document }, reader)))
    // Whoever may change the node is not kept waiting behind those who may only read.
    const dry = await apply(await changed(), { dryRun: true, expectedRevision: configRevision })
    expect(dry.revision).toBe(configRevision + 1n)
    const refused = (await Promise.all(flood)).filter((one) => one !== undefined)
    expect(new Set(refused.map((one) => one.code))).toEqual(new Set(['node_busy']))
    expect(new Set(refused.map((one) => one.status))).toEqual(new Set([grpc.status.RESOURCE_EXHAUSTED]))
    expect(refused.length).toBeLessThan(flood.length)
    const { findings } = await node.call(config.validate, { document }, reader)
    expect(findings.at(-1)).toMatchObject({ code: 'too_many_findings' })
    expect(findings).toHaveLength(101)
    expect(await node.coreUp()).toBe(pid)
  })

  it('stages for the next boot', async () => {
    const before = await status()
    const answer = await apply(await changed(), { mode: 2, expectedRevision: before.configRevision })
    expect(answer.rebootRequired).toBe(true)
    expect(await status()).toMatchObject({
      configRevision: before.configRevision,
      stagedRevision: answer.revision,
    })
    await node.call(system.reboot, { mode: 0, dryRun: false, idempotencyKey: '' }, admin)
    expect(await running(before.bootId)).toMatchObject({
      configRevision: answer.revision,
      stagedRevision: 0n,
    })
  })

  it('goes back by itself after a trial', async () => {
    const { configRevision } = await status()
    const tryTimeout = { seconds: 5n, nanos: 0 }
    const tried = await apply(await changed(), { mode: 1, tryTimeout, expectedRevision: configRevision })
    expect(tried.tryUntil).toBeInstanceOf(Date)
    expect((await status()).configRevision).toBe(tried.revision)
    await eventually(async () => ((await status()).configRevision === configRevision ? true : undefined))
    expect((await events()).map((event) => event.code)).toContain('config.reverted')
  })

  it('goes back when core is killed during a trial, and keeps what was confirmed', async () => {
    const { configRevision } = await status()
    const document = await changed()
    const trial = { mode: 1, tryTimeout: { seconds: 3600n, nanos: 0 } } as const
    await apply(document, { ...trial, expectedRevision: configRevision })
    await killCore()
    expect(await status()).toMatchObject({ configRevision, tryUntil: undefined })
    const { revision } = await apply(document, { ...trial, expectedRevision: configRevision })
    expect(await apply(document, { expectedRevision: revision })).toMatchObject({ revision })
    await killCore()
    expect((await status()).configRevision).toBe(revision)
  })

  it('gives the first answer to a repeated key, also after a reboot', async () => {
    const before = await running()
    const document = await changed()
    const request = { idempotencyKey: 'key-apply-1', expectedRevision: before.configRevision }
    const first = await apply(document, request)
    expect(await apply(document, request)).toEqual({ ...first, repeated: true })
    const reboot = { mode: 0, dryRun: false, idempotencyKey: 'key-reboot-1' } as const
    const answer = await node.call(system.reboot, reboot, admin)
    expect(answer).toMatchObject({ bootId: before.bootId, repeated: false })
    const next = await running(before.bootId)
    expect(await node.call(system.reboot, reboot, admin)).toEqual({ ...answer, repeated: true })
    expect(await apply(document, request)).toEqual({ ...first, repeated: true })
    expect((await status()).bootId).toBe(next.bootId)
    expect(await refusal(apply(await controlPlaneData(), request))).toMatchObject({
      code: 'idempotency_key_reused',
    })
    const rebooted = (await events()).findLast((event) => event.code === 'machine.rebooted')
    expect(rebooted?.operationId).toBe(answer.operationId)
  })

  it('is whole after kill -9 at any moment of applying, and what was acknowledged is there (BR-029)', async () => {
    let acknowledged = (await status()).configRevision
    for (let round = 0; round < 4; round += 1) {
      const pid = await node.coreUp()
      const applying = (async () => {
        for (;;) acknowledged = (await apply(await changed(), { expectedRevision: acknowledged })).revision
      })().catch(() => undefined)
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 60))
      process.kill(pid, 'SIGKILL')
      await applying
      await node.coreUp(pid)
      const { configRevision: now } = await status()
      expect([acknowledged, acknowledged + 1n]).toContain(now)
      acknowledged = now
    }
    const sequences = (await events()).map((event) => event.sequence)
    expect(new Set(sequences).size).toBe(sequences.length)
  })

  it('ends a stream with UNAVAILABLE when core is restarted, and comes back (BR-058)', async () => {
    const pid = await node.coreUp()
    const stream = node.stream(EventServiceService.watch, { afterSequence: 0n, tail: 1, follow: true }, admin)
    const ended = new Promise<grpc.ServiceError>((resolve) => {
      stream.on('error', (error: grpc.ServiceError) => resolve(error))
      stream.on('data', () => undefined)
    })
    const restarts = (await node.call(ServiceServiceService.get, { name: 'core' }, admin)).service?.restarts
    await node.call(ServiceServiceService.restart, { name: 'core', dryRun: false, idempotencyKey: '' }, admin)
    expect(await ended).toMatchObject({ code: grpc.status.UNAVAILABLE })
    await node.coreUp(pid)
    const core = (await node.call(ServiceServiceService.get, { name: 'core' }, admin)).service
    expect(core).toMatchObject({ lastExit: 'exit code 0', restarts })
  })
})
