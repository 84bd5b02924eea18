import * as grpc from '@grpc/grpc-js'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  CredentialServiceService as credential,
  MachineState,
  SystemServiceService as system,
  TrustServiceService as trust,
} from '../../../agent/api/index.ts'
import {
  createCsr,
  generateKey,
  loadPrivateKey,
  parseCsr,
  signRenewal,
  verifyNodeCertificate,
} from '../../../pki/index.ts'
import {
  clientCertificate,
  controlPlaneData,
  eventually,
  indent,
  secrets,
  stableCode,
  TestNode,
} from './harness.ts'

let node: TestNode
let admin: Buffer
const PEER = '127.0.0.9'

beforeAll(async () => {
  node = await TestNode.start(await controlPlaneData())
  admin = await clientCertificate(['stele:admin'])
  await running(node)
})
afterAll(() => node[Symbol.asyncDispose]())

const running = (one: TestNode) =>
  eventually(
    async () => {
      const { status } = await one.call(system.getStatus, {}, admin)
      return status?.state === MachineState.RUNNING ? status : undefined
    },
    () => one.log('core'),
  )

async function keyAndCsr(name: string, ips: readonly string[] = [PEER]) {
  const made = await generateKey()
  const loaded = loadPrivateKey(made.privateKeyPem)
  if (!loaded.ok) throw loaded.error
  const csr = await createCsr({
    key: loaded.value,
    commonName: name,
    dnsNames: [name],
    ipAddresses: [...ips],
  })
  return { key: loaded.value, csr }
}
const toTrust = () => ({ socket: node.paths.coreTrustSocket, headers: { 'stele-peer-address': PEER } })
const sign = async (csr: string, more: { username?: string; password?: string } = {}) => {
  const { joinCredential } = await secrets()
  return node.call(trust.sign, { ...joinCredential, ...more, csr }, undefined, toTrust())
}
const refusal = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: unknown) => ({
      status: (error as grpc.ServiceError).code,
      code: stableCode(error),
      text: (error as grpc.ServiceError).details,
    }),
  )
const create = (more: object = {}) =>
  node.call(
    credential.createJoinCredential,
    { lifetime: undefined, maxUses: 0, description: '', idempotencyKey: '', ...more },
    admin,
  )

describe('signing for a worker', () => {
  it('answers a right credential with a certificate of its own names, and remembers the node', async () => {
    const { csr } = await keyAndCsr('w-1')
    const answer = await sign(csr)
    const { nodeCa } = await secrets()
    const verified = verifyNodeCertificate(answer.certificate, {
      authorities: [nodeCa.certificatePem],
      now: new Date(),
    })
    expect(verified).toMatchObject({ ok: true, value: { commonName: 'w-1', ipAddresses: [PEER] } })
    const { enrolments } = await node.call(credential.listEnrolments, {}, admin)
    expect(enrolments).toMatchObject([{ node: 'w-1', addresses: [PEER] }])
  })

  it('counts no second use for the same key, and refuses the name to another key', async () => {
    await node.call(credential.forgetEnrolment, { node: 'w-1', dryRun: false }, admin)
    const { username } = (await secrets()).joinCredential
    const uses = async () =>
      (await node.call(credential.listJoinCredentials, {}, admin)).credentials.find(
        (one) => one.username === username,
      )?.uses
    const { csr } = await keyAndCsr('w-1')
    await sign(csr)
    const before = await uses()
    await sign(csr)
    expect(await uses()).toBe(before)
    expect(await refusal(sign((await keyAndCsr('w-1', [PEER])).csr))).toMatchObject({
      status: grpc.status.INVALID_ARGUMENT,
    })
  })

  it('gives one answer to every failure of the credential, and tells the log which it was (BR-049)', async () => {
    const { csr } = await keyAndCsr('w-2')
    const revoked = await create()
    await node.call(credential.revokeJoinCredential, { username: revoked.credential?.username ?? '' }, admin)
    const answers = [
      await refusal(sign(csr, { username: 'nobody' })),
      await refusal(sign(csr, { password: 'wrong' })),
      await refusal(sign(csr, { password: '' })),
      await refusal(sign(csr, { password: 'ü'.repeat(300) })),
      await refusal(sign(csr, { username: '', password: '' })),
      await refusal(sign(csr, { username: revoked.credential?.username ?? '', password: revoked.password })),
    ]
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
    expect(answers[0]).toMatchObject({ status: grpc.status.UNAUTHENTICATED, code: 'join_refused' })
    const reasons = node
      .audit()
      .map((one) => (one['details'] as Record<string, string> | undefined)?.['reason'])
    expect(reasons).toEqual(
      expect.arrayContaining(['username_unknown', 'password_wrong', 'credential_revoked']),
    )
  })

  it('lets old and new credentials join side by side (BR-048), as often as they may', async () => {
    const once = await create({ maxUses: 1 })
    const mine = { username: once.credential?.username ?? '', password: once.password }
    const first = await keyAndCsr('w-3', [PEER, '10.9.9.3'])
    await node.call(credential.forgetEnrolment, { node: 'w-1', dryRun: false }, admin)
    await sign(first.csr, mine)
    await sign(first.csr, mine)
    await node.call(credential.forgetEnrolment, { node: 'w-3', dryRun: false }, admin)
    expect(await refusal(sign((await keyAndCsr('w-4')).csr, mine))).toMatchObject({ code: 'join_refused' })
    await sign((await keyAndCsr('w-4')).csr)
    await node.call(credential.forgetEnrolment, { node: 'w-4', dryRun: false }, admin)
  })

  it.each([
    ['the name of the control plane', 'cp-1', [PEER]],
    ['the address of the control plane', 'w-5', [PEER, '127.0.0.1']],
    ['no address that it comes from', 'w-5', ['10.1.2.3']],
  ])('refuses a CSR for %s', async (_what, name, ips) => {
    const answer = await refusal(sign((await keyAndCsr(name, ips)).csr))
    expect(answer).toMatchObject({
      status: grpc.status.INVALID_ARGUMENT,
      code: expect.not.stringContaining('internal') as string,
    })
  })

  it('renews by the key of the present certificate, and by no other', async () => {
    const { key, csr } = await keyAndCsr('w-6')
    const { certificate } = await sign(csr)
    const parsed = parseCsr(csr)
    if (!parsed.ok) throw parsed.error
    const renew = (signature: Buffer) =>
      node.call(trust.renew, { csr, certificate, signature }, undefined, toTrust())
    const next = await renew(signRenewal(key, parsed.value.der))
    expect(next.certificate).not.toBe(certificate)
    const other = await keyAndCsr('w-6')
    expect(await refusal(renew(signRenewal(other.key, parsed.value.der)))).toMatchObject({
      status: grpc.status.UNAUTHENTICATED,
      code: 'renewal_proof_wrong',
    })
    await node.call(credential.forgetEnrolment, { node: 'w-6', dryRun: false }, admin)
    expect(await refusal(renew(signRenewal(key, parsed.value.der)))).toMatchObject({
      code: 'renewal_refused',
    })
  })

  it('keeps records and enrolments over a kill', async () => {
    await sign((await keyAndCsr('w-7')).csr)
    const pid = await node.coreUp()
    process.kill(pid, 'SIGKILL')
    await node.coreUp(pid)
    await running(node)
    expect(
      (await node.call(credential.listEnrolments, {}, admin)).enrolments.map((one) => one.node),
    ).toContain('w-7')
    await node.call(credential.forgetEnrolment, { node: 'w-7', dryRun: false }, admin)
  })

  it('refuses a denied certificate of a client at once', async () => {
    const eve = await clientCertificate(['stele:reader'], 'eve')
    const { serial } = await node.call(system.whoAmI, {}, eve)
    await node.call(credential.denyCertificate, { serial, reason: 'lost' }, admin)
    expect(await refusal(node.call(system.version, {}, eve))).toMatchObject({
      status: grpc.status.UNAUTHENTICATED,
      code: 'certificate_denied',
    })
  })
})

describe('a worker', () => {
  it('joins over TLS, serves with what it got, and does so in a later boot with every control plane down', async () => {
    const identity = JSON.parse(readFileSync(node.paths.trustIdentity, 'utf8')) as {
      certificate: string
      privateKey: string
    }
    const server = new grpc.Server()
    const pair = {
      private_key: Buffer.from(identity.privateKey),
      cert_chain: Buffer.from(identity.certificate),
    }
    server.addService(
      { sign: trust.sign },
      {
        sign: (
          call: grpc.ServerUnaryCall<{ username: string; password: string; csr: string }, unknown>,
          callback: grpc.sendUnaryData<unknown>,
        ) => {
          const address = call.getPeer().split(':')[0] ?? ''
          const headers = { 'stele-peer-address': address }
          node
            .call(trust.sign, call.request, undefined, { socket: node.paths.coreTrustSocket, headers })
            .then(
              (answer) => callback(null, answer),
              (error: unknown) => callback(error as grpc.ServiceError),
            )
        },
      },
    )
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createSsl(null, [pair]), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      )
    })
    const { nodeCa, joinCredential } = await secrets()
    const data = `apiVersion: stele.dev/v1alpha1
kind: NodeConfig
hostname: worker-1
trust:
  endpoints: ["127.0.0.1:${port}"]
  username: ${JSON.stringify(joinCredential.username)}
  password: ${JSON.stringify(joinCredential.password)}
  ca: |
${indent(nodeCa.certificatePem)}
`
    await using worker = await TestNode.start(data, { name: 'worker-1', address: '127.0.0.7' })
    const first = await running(worker)
    expect(first).toMatchObject({ node: 'worker-1', servicesTotal: 2 })
    server.forceShutdown()
    await worker.ask({ command: 'reboot', forced: false })
    const second = await eventually(
      async () => {
        const { status } = await worker.call(system.getStatus, {}, admin)
        return status?.bootId !== first.bootId && status?.state === MachineState.RUNNING ? status : undefined
      },
      () => worker.log('core'),
    )
    expect(second.certificateNotAfter).toEqual(first.certificateNotAfter)
  })
})
