import * as grpc from '@grpc/grpc-js'
import { X509Certificate } from 'node:crypto'
import { statSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  ConfigServiceService,
  LogServiceService,
  MachineState,
  SystemServiceService as system,
  TrustServiceService,
} from '../../../agent/api/index.ts'
import { createAuthority, issueAdminCertificate, loadAuthority } from '../../../pki/index.ts'
import { clientCertificate, controlPlaneData, eventually, secrets, stableCode, TestNode } from './harness.ts'

let node: TestNode
let admin: Buffer
let reader: Buffer
beforeAll(async () => {
  node = await TestNode.start(await controlPlaneData())
  admin = await clientCertificate(['stele:admin'])
  reader = await clientCertificate(['stele:reader'], 'rita')
  await eventually(
    async () => {
      const { status } = await node.call(system.getStatus, {}, admin)
      return status?.state === MachineState.RUNNING ? true : undefined
    },
    () => node.log('core'),
  )
})
afterAll(() => node[Symbol.asyncDispose]())

const refusal = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: unknown) => ({ status: (error as grpc.ServiceError).code, code: stableCode(error) }),
  )

describe('a caller of core', () => {
  it('gets the version and status of a node that came up from its user data', async () => {
    const version = await node.call(system.version, {}, reader)
    expect(version).toMatchObject({ api: 'stele.agent.v1', node: 'cp-1', platform: 'local' })
    const { status } = await node.call(system.getStatus, {}, reader)
    expect(status).toMatchObject({
      node: 'cp-1',
      bootId: version.bootId,
      configRevision: 1n,
      servicesTotal: 3,
      addresses: ['127.0.0.1'],
      findings: [],
    })
    expect(status?.certificateRenewAt?.getTime()).toBeLessThan(status?.certificateNotAfter?.getTime() ?? 0)
  })

  it('is who the certificate says, with what its roles may call', async () => {
    const me = await node.call(system.whoAmI, {}, await clientCertificate(['stele:reader'], 'rita'))
    expect(me).toMatchObject({ commonName: 'rita', roles: ['stele:reader'], address: '127.0.0.9' })
    expect(me.methods).toContain('stele.agent.v1.SystemService/GetStatus')
    expect(me.methods).not.toContain('stele.agent.v1.SystemService/Reboot')
  })

  it('is refused what its role may not do, with the roles that may', async () => {
    const call = node.call(system.reboot, { mode: 0, dryRun: false, idempotencyKey: '' }, reader)
    await expect(call).rejects.toMatchObject({
      code: grpc.status.PERMISSION_DENIED,
      details: 'role "stele:reader" may not call stele.agent.v1.SystemService/Reboot',
    })
  })

  it.each(['role', 'stele-role', 'stele-roles', 'x-stele-role'])(
    'gets nothing by a header %s (BR-051)',
    async (header) => {
      const call = node.call(system.reboot, { mode: 0, dryRun: true, idempotencyKey: '' }, reader, {
        headers: { [header]: 'stele:admin' },
      })
      expect(await refusal(call)).toEqual({ status: grpc.status.PERMISSION_DENIED, code: 'role_missing' })
    },
  )

  it.each([[[]], [['stele:admin ']], [['STELE:ADMIN']], [['admin']]])(
    'gets nothing by the roles %j (BR-051)',
    async (roles: string[]) => {
      const { nodeCa } = await secrets()
      const authority = loadAuthority(nodeCa)
      if (!authority.ok) throw authority.error
      const issued = await issueAdminCertificate({
        authority: authority.value,
        commonName: 'eve',
        roles: roles,
        now: new Date(),
      }).catch(() => undefined)
      // What the PKI does not even issue cannot be shown.
      if (issued === undefined) return
      expect(
        await refusal(node.call(system.version, {}, new X509Certificate(issued.certificatePem).raw)),
      ).toMatchObject({ status: grpc.status.PERMISSION_DENIED })
    },
  )

  it('is refused without a certificate, with garbage, and with that of another authority', async () => {
    const { certificatePem, privateKeyPem } = await createAuthority({ commonName: 'other', now: new Date() })
    const authority = loadAuthority({ certificatePem, privateKeyPem })
    if (!authority.ok) throw authority.error
    const foreign = await issueAdminCertificate({
      authority: authority.value,
      commonName: 'eve',
      roles: ['stele:admin'],
      now: new Date(),
    })
    for (const certificate of [
      undefined,
      Buffer.from('garbage'),
      new X509Certificate(foreign.certificatePem).raw,
    ]) {
      expect(await refusal(node.call(system.version, {}, certificate))).toMatchObject({
        status: grpc.status.UNAUTHENTICATED,
      })
    }
  })

  it('leaves an audit record, allowed or denied, with who, from where, what, outcome and time', async () => {
    await refusal(node.call(system.shutdown, { force: false, dryRun: false, idempotencyKey: '' }, reader))
    await refusal(node.call(system.version, {}, undefined))
    const records = node.audit()
    const denied = records.findLast((one) => one['what'] === 'stele.agent.v1.SystemService/Shutdown')
    expect(denied).toMatchObject({
      who: { commonName: 'rita', roles: ['stele:reader'] },
      from: '127.0.0.9',
      outcome: 'role_missing',
    })
    expect(denied).toHaveProperty('ms', expect.any(Number))
    expect(denied).toHaveProperty('who.serial', expect.stringMatching(/^[0-9a-f]+$/))
    expect(records.findLast((one) => one['outcome'] === 'no_client_certificate')).toMatchObject({
      from: '127.0.0.9',
    })
    expect(records.find((one) => one['outcome'] === 'ok')).toMatchObject({
      what: expect.any(String) as string,
    })
  })

  it('reads the audit record as a log', async () => {
    const call = node.stream(
      LogServiceService.logs,
      { service: 'audit', follow: false, tailLines: 2, previousBoot: false },
      reader,
    )
    let text = ''
    for await (const message of call as AsyncIterable<{ lines: Buffer }>) text += message.lines.toString()
    expect(text.trim().split('\n')).toHaveLength(2)
  })

  it('does not reach TrustService through the door of the gateway, nor the API through that of trust', async () => {
    expect(
      await refusal(node.call(TrustServiceService.sign, { username: '', password: '', csr: '' }, admin)),
    ).toMatchObject({ status: grpc.status.UNIMPLEMENTED })
    expect(
      await refusal(node.call(system.version, {}, admin, { socket: node.paths.coreTrustSocket })),
    ).toMatchObject({ status: grpc.status.UNIMPLEMENTED })
  })

  it('sends a number that no enumeration has and is refused (BR-063)', async () => {
    const call = node.call(system.reboot, { mode: 99 as 0, dryRun: true, idempotencyKey: '' }, admin)
    expect(await refusal(call)).toEqual({ status: grpc.status.INVALID_ARGUMENT, code: 'enum_unknown' })
  })

  it('sends no message at all and harms nobody', async () => {
    const broken = {
      ...ConfigServiceService.validate,
      requestSerialize: () => Buffer.from('ffffffff', 'hex'),
    }
    expect(await refusal(node.call(broken, { document: '' }, admin))).toMatchObject({
      status: expect.any(Number) as number,
    })
    expect(await node.call(system.version, {}, admin)).toMatchObject({ node: 'cp-1' })
  })

  it('finds the secrets of the node nowhere in its logs, and its files closed to others', async () => {
    const { nodeCa, joinCredential } = await secrets()
    const everything =
      ['core', 'kernel', 'gateway'].map((name) => node.log(name)).join('') + JSON.stringify(node.audit())
    expect(everything).not.toContain(joinCredential.password)
    expect(everything).not.toContain(nodeCa.privateKeyPem.split('\n')[1])
    for (const path of [node.paths.gatewayIdentity, node.paths.trustIdentity])
      expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(statSync(node.paths.state).mode & 0o777).toBe(0o700)
  })
})
