import * as grpc from '@grpc/grpc-js'
import { scrypt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, connect as tcpConnect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as tlsConnect } from 'node:tls'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SystemServiceService, TrustServiceService } from '#api'
import { systemClock } from '#kit/clock'
import type { Endpoint } from '#kit/endpoint'
import { createLog } from '#kit/log'
import { connect, implement, RpcFault, type CallContext } from '#rpc'
import { identityText, makeAuthority, makeServer, type TestAuthority } from '../../support/certificates.ts'
import { startDaemon, type Daemon } from '../../support/processes.ts'
import { eventually } from '../../support/wait.ts'
import { endpointOf, faultOf, soon } from '../gateway/harness.ts'

const PASSWORD = 'right-password'
const directory = mkdtempSync(join(tmpdir(), 'stele-trust-'))
const asked: { address: string; username: string }[] = []

let authority: TestAuthority
let daemon: Daemon
let endpoint: Endpoint
let closeCore: () => void

/** As core's signer has it: a check takes a while, and one that would be the fifth at a time is refused, whoever asks. */
const check = promisify<string, string, number, Buffer>(scrypt)
let checks = 0
async function checkPassword(password: string): Promise<void> {
  if (checks >= 4)
    throw new RpcFault('resource_exhausted', 'signer_busy', 'too many nodes join at this moment')
  checks += 1
  try {
    await check(password, 'salt', 32)
  } finally {
    checks -= 1
  }
}

/** Core's side: one credential; a wrong one is refused as core refuses it, a CSR that says `bad` by a rule. */
async function startCore(path: string): Promise<() => void> {
  const server = new grpc.Server({ 'grpc.enable_channelz': 0 })
  const { definition, implementation } = implement(
    TrustServiceService,
    {
      sign: async (request, context: CallContext) => {
        asked.push({
          address: String(context.metadata.get('stele-peer-address')[0]),
          username: request.username,
        })
        await checkPassword(request.password)
        if (request.csr === 'boom') throw new Error('marker-secret')
        if (request.username !== 'worker' || request.password !== PASSWORD)
          throw new RpcFault('unauthenticated', 'join_refused', 'the join credential was refused', {
            hint: 'ask an administrator for a join credential that is usable: stelectl token list',
          })
        if (request.csr === 'bad')
          throw new RpcFault('invalid_argument', 'csr_wildcard', 'a wildcard is never signed')
        return { certificate: 'signed', authorities: 'all' }
      },
      renew: async () => ({ certificate: 'renewed', authorities: 'all' }),
    },
    {
      chain: { guard: async () => ({}) },
      log: createLog('stand-in', { write: () => undefined }),
      clock: systemClock,
      defaultDeadlineMs: 10_000,
    },
  )
  server.addService(definition, implementation)
  const injector = server.createConnectionInjector(grpc.ServerCredentials.createInsecure())
  const listener = createServer((socket) => injector.injectConnection(socket))
  listener.listen(path)
  await once(listener, 'listening')
  return () => {
    listener.close()
    server.forceShutdown()
  }
}

beforeAll(async () => {
  authority = await makeAuthority()
  const file = join(directory, 'identity.json')
  writeFileSync(file, identityText(await makeServer(authority), [authority.bundle.certificatePem]), {
    mode: 0o600,
  })
  const core = join(directory, 'trust.sock')
  closeCore = await startCore(core)
  daemon = startDaemon('trust', ['--listen', '127.0.0.1:0', '--core', core, '--identity', file])
  await daemon.ready
  endpoint = await eventually(() => endpointOf(daemon))
})
afterAll(async () => {
  await daemon.stop('SIGKILL')
  closeCore()
  rmSync(directory, { recursive: true, force: true })
})

/** A worker that comes from `localAddress`; each test has addresses of its own, since failures are counted by address. */
function from(localAddress: string) {
  return connect(
    { trust: TrustServiceService, system: SystemServiceService },
    { endpoint, tls: { authorities: [authority.bundle.certificatePem] }, localAddress },
  )
}

const right = { username: 'worker', password: PASSWORD, csr: 'csr' }

describe('a worker', () => {
  it('with the right credential gets what core signed, and core learns where it came from', async () => {
    await using worker = from('127.0.1.1')
    expect(await worker.trust.sign(right, soon())).toEqual({ certificate: 'signed', authorities: 'all' })
    expect(asked.at(-1)).toEqual({ address: '127.0.1.1', username: 'worker' })
    expect((await worker.trust.renew({ csr: 'csr' }, soon())).certificate).toBe('renewed')
  })

  it('cannot write the address that core learns', async () => {
    await using worker = from('127.0.1.2')
    await worker.trust.sign(right, { ...soon(), metadata: { 'stele-peer-address': '10.0.0.9' } })
    expect(asked.at(-1)?.address).toBe('127.0.1.2')
  })

  it('BR-052 reaches TrustService and nothing else', async () => {
    await using worker = from('127.0.1.3')
    expect((await faultOf(worker.system.version({}, soon()))).status).toBe('unimplemented')
  })

  it('BR-049 is told the same for every credential that is wrong', async () => {
    const wrong = [
      { ...right, username: 'nobody' },
      { ...right, password: 'wrong' },
      { ...right, username: '', password: '' },
      { ...right, password: 'a' },
      { ...right, password: 'x'.repeat(64 * 1024) },
      { ...right, password: 'a:b' },
      { ...right, password: 'pässwörd' },
    ]
    const told = await Promise.all(
      wrong.map(async (request, at) => {
        await using worker = from(`127.0.2.${at + 1}`)
        const fault = await faultOf(worker.trust.sign(request, soon()))
        return JSON.stringify([fault.status, fault.code, fault.message, fault.hint])
      }),
    )
    expect(new Set(told).size).toBe(1)
    expect(told[0]).toContain('join_refused')
  })

  it('is told which rule its CSR broke', async () => {
    await using worker = from('127.0.1.4')
    const large = await faultOf(worker.trust.sign({ ...right, csr: 'x'.repeat(100 * 1024) }, soon()))
    expect([large.status, large.code]).toEqual(['invalid_argument', 'csr_too_large'])
    const bad = await faultOf(worker.trust.sign({ ...right, csr: 'bad' }, soon()))
    expect([bad.status, bad.code, bad.message]).toEqual([
      'invalid_argument',
      'csr_wildcard',
      'a wildcard is never signed',
    ])
  })

  it('is told nothing of a failure inside', async () => {
    await using worker = from('127.0.1.5')
    const fault = await faultOf(worker.trust.sign({ ...right, csr: 'boom' }, soon()))
    expect(fault.status).toBe('internal')
    expect(fault.incident).toBeDefined()
    expect(`${fault.message}${fault.hint}`).not.toContain('marker')
  })
})

describe('guessing', () => {
  it('1,000 wrong passwords from one address are slowed and logged; a right one from another address works', async () => {
    await using guesser = from('127.0.3.1')
    const before = asked.length
    const faults = await Promise.all(
      Array.from({ length: 1000 }, async (_, at) =>
        faultOf(guesser.trust.sign({ ...right, password: `guess-${at}` }, soon())),
      ),
    )
    const codes = new Set(faults.map((fault) => fault.code))
    expect(codes).toContain('join_refused')
    expect(faults.filter((fault) => fault.status === 'resource_exhausted').length).toBeGreaterThan(980)
    expect(asked.length - before).toBeLessThan(20)
    const locked = await faultOf(guesser.trust.sign({ ...right, password: 'again' }, soon()))
    expect([locked.status, locked.code]).toEqual(['resource_exhausted', 'join_locked_out'])
    expect(locked.hint).toMatch(/^try again in \d+ ms$/)
    await using worker = from('127.0.3.2')
    expect((await worker.trust.sign(right, soon())).certificate).toBe('signed')
    const line = await eventually(() =>
      daemon.lines().find((one) => one['code'] === 'join_refused' && one['from'] === '127.0.3.1'),
    )
    expect(line).toMatchObject({ audit: true, username: 'worker', message: 'call refused' })
    expect(daemon.output()).not.toMatch(/guess-|right-password/)
  })
})

describe('a flood of wrong passwords from 24 addresses', () => {
  it('shuts nobody out who has not failed, whether the clients wait for their answers or leave', async () => {
    const over = new AbortController()
    const codes: string[] = []
    const failed = new Set<number>()
    const flood = Array.from({ length: 24 }, async (_, at) => {
      await using guesser = from(`127.0.6.${at + 1}`)
      for (let guess = 0; !over.signal.aborted; guess += 1) {
        const call = guesser.trust.sign(
          { ...right, password: `flood-${guess}` },
          { signal: over.signal, deadlineMs: failed.has(at) && guess % 2 === 0 ? 20 : 10_000 },
        )
        const { code } = await faultOf(call)
        codes.push(code)
        if (code === 'join_refused') failed.add(at)
      }
    })
    await eventually(() => failed.size === flood.length)
    await using worker = from('127.0.7.1')
    const joins = Array.from({ length: 6 }, async () => worker.trust.sign(right, soon()))
    const joined = await Promise.allSettled(joins)
    over.abort(new RpcFault('cancelled', 'cancelled', 'the flood is over'))
    await Promise.all(flood)
    expect(joined).toEqual(
      Array(6).fill({ status: 'fulfilled', value: { certificate: 'signed', authorities: 'all' } }),
    )
    expect(codes).not.toContain('signer_busy')
    expect(codes).toContain('join_locked_out')
  })
})

describe('the port', () => {
  it('speaks TLS 1.3 alone', async () => {
    const socket = tlsConnect({ ...endpoint, maxVersion: 'TLSv1.2', ca: authority.bundle.certificatePem })
    const [error] = (await once(socket, 'error')) as [Error & { code: string }]
    expect(error.code).toBe('ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION')
  })

  it('serves while 1,000 connections say nothing', async () => {
    const idle = Array.from({ length: 1000 }, () => tcpConnect({ ...endpoint, localAddress: '127.0.4.1' }))
    for (const socket of idle) socket.on('error', () => undefined)
    await Promise.all(idle.map(async (socket) => once(socket, 'connect')))
    await using worker = from('127.0.4.2')
    expect((await worker.trust.sign(right, soon())).certificate).toBe('signed')
    for (const socket of idle) socket.destroy()
  })

  it('refuses a message of 200 KiB and many headers', async () => {
    await using worker = from('127.0.4.3')
    const large = await faultOf(worker.trust.sign({ ...right, csr: 'x'.repeat(200 * 1024) }, soon()))
    expect([large.status, large.code]).toEqual(['resource_exhausted', 'message_too_large'])
    const metadata = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`h${at}`, 'x']))
    expect((await faultOf(worker.trust.sign(right, { ...soon(), metadata }))).code).toBe('metadata_too_large')
  })
})
