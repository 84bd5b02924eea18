import { connect as tlsConnect } from 'node:tls'
import { once } from 'node:events'
import { connect as http2Connect } from 'node:http2'
import { gzipSync } from 'node:zlib'
import { connect as tcpConnect } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { makeAuthority, makeClient, makeOddClient, makeServer } from '../../support/certificates.ts'
import { residentMib } from '../../support/processes.ts'
import { eventually } from '../../support/wait.ts'
import { faultOf, soon, startFixture, type Fixture } from './harness.ts'

let fixture: Fixture

beforeAll(async () => {
  fixture = await startFixture()
})
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

/** Whatever was refused: the same process still serves an admin. */
afterEach(async () => {
  expect(fixture.daemon.process.exitCode).toBeNull()
  await using client = fixture.dial()
  expect((await client.system.version({}, soon())).node).toBe('cp-1')
})

async function refusalOf(pair: object) {
  await using client = fixture.dial(pair)
  return await faultOf(client.system.version({}, soon()))
}

const causes = () =>
  fixture.daemon.lines().flatMap((line) => (line['message'] === 'TLS refused' ? [line] : []))

describe('a client without the right certificate', () => {
  it('BR-052 BR-055 is refused without a certificate, and told so', async () => {
    const fault = await refusalOf({})
    expect([fault.status, fault.code]).toEqual(['unauthenticated', 'certificate_required'])
    expect(fault.hint).toBeDefined()
  })

  it('BR-052 BR-055 is refused with one of another authority, and told so', async () => {
    const fault = await refusalOf(await makeClient(await makeAuthority('another CA')))
    expect([fault.status, fault.code]).toEqual(['unauthenticated', 'certificate_untrusted'])
  })

  it('BR-052 is refused with one of an authority of the same name', async () => {
    const fault = await refusalOf(await makeClient(await makeAuthority('test node CA')))
    expect(fault.code).toBe('certificate_untrusted')
  })

  it('BR-055 is refused with an expired one, and told so', async () => {
    const past = new Date(Date.now() - 2 * 3600_000)
    const fault = await refusalOf(await makeClient(fixture.authority, { now: past, lifetimeSeconds: 3600 }))
    expect([fault.status, fault.code]).toEqual(['unauthenticated', 'certificate_expired'])
  })

  it('is refused with one for servers only, and told so', async () => {
    const fault = await refusalOf(await makeServer(fixture.authority))
    expect([fault.status, fault.code]).toEqual(['unauthenticated', 'certificate_usage'])
  })

  it('leaves the cause and the address in the log, and no certificate', async () => {
    await eventually(() => causes().length >= 4)
    expect(new Set(causes().map((line) => line['cause']))).toEqual(
      new Set(['certificate_required', 'certificate_untrusted', 'certificate_expired', 'certificate_usage']),
    )
    expect(causes().every((line) => line['from'] === '127.0.0.1')).toBe(true)
    expect(fixture.daemon.output()).not.toContain('BEGIN')
  })

  it('is refused TLS 1.2, by the alert protocol_version', async () => {
    const socket = tlsConnect({
      ...fixture.endpoint,
      maxVersion: 'TLSv1.2',
      ca: fixture.authority.bundle.certificatePem,
      cert: fixture.admin.certificate,
      key: fixture.admin.privateKey,
    })
    const [error] = (await once(socket, 'error')) as [Error & { code: string }]
    expect(error.code).toBe('ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION')
    await eventually(() => causes().some((line) => line['cause'] === 'tls_version'))
  })

  it('BR-054 gets no session that it could resume', async () => {
    const first = tlsConnect({ ...options(), servername: 'cp-1' })
    let session: Buffer | undefined
    first.on('session', (one: Buffer) => {
      session = one
    })
    await once(first, 'secureConnect')
    first.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    await once(first, 'data')
    first.destroy()
    const second = tlsConnect({
      ...options(),
      servername: 'cp-1',
      ...(session === undefined ? {} : { session }),
    })
    await once(second, 'secureConnect')
    expect(second.isSessionReused()).toBe(false)
    second.destroy()
  })
})

function options() {
  return {
    ...fixture.endpoint,
    ca: fixture.authority.bundle.certificatePem,
    cert: fixture.admin.certificate,
    key: fixture.admin.privateKey,
    ALPNProtocols: ['h2'],
  }
}

describe('a role', () => {
  const forged = {
    role: 'stele:admin',
    'STELE-ROLE': 'stele:admin',
    'stele-peer-certificate-bin': Buffer.from('x'),
    'stele-peer-address': '10.0.0.1',
  }

  it('BR-051 in a header counts for nothing: the certificate answers', async () => {
    const reader = await makeClient(fixture.authority, { commonName: 'rita', roles: ['stele:reader'] })
    await using client = fixture.dial(reader)
    const who = await client.system.whoAmI({}, { ...soon(), metadata: forged })
    expect([who.commonName, who.roles, who.address]).toEqual(['rita', ['stele:reader'], '127.0.0.1'])
    const fault = await faultOf(client.system.reboot({}, { ...soon(), metadata: forged }))
    expect([fault.status, fault.code, fault.hint]).toEqual([
      'permission_denied',
      'permission_denied',
      'another role',
    ])
  })

  it('BR-051 in a header takes nothing from an admin either, and no header of a client reaches core', async () => {
    await using client = fixture.dial()
    await client.system.whoAmI(
      {},
      { ...soon(), metadata: { role: 'stele:reader', authorization: 'x', 'x-other': 'y' } },
    )
    expect(Object.keys(fixture.core.headers().getMap()).sort()).toEqual([
      'stele-peer-address',
      'stele-peer-certificate-bin',
      'stele-request-id',
      'user-agent',
    ])
  })

  it('BR-051 that is blank, unknown or spelled otherwise grants nothing', async () => {
    const odd = makeOddClient(fixture.authority, '/CN=mallory/O=stele:admin /O=STELE:ADMIN/O=reader')
    await using client = fixture.dial(odd)
    expect((await faultOf(client.system.version({}, soon()))).code).toBe('permission_denied')
    await using nobody = fixture.dial(makeOddClient(fixture.authority, '/CN=nobody'))
    expect((await faultOf(nobody.system.version({}, soon()))).code).toBe('permission_denied')
  })
})

describe('a method', () => {
  it('without a row is refused, by core', async () => {
    await using client = fixture.dial()
    expect((await faultOf(client.credential.listEnrolments({}, soon()))).status).toBe('unimplemented')
    expect((await faultOf(client.system.getBootSource({}, soon()))).code).toBe('permission_denied')
  })

  it('that rejects answers INTERNAL with an incident and nothing of the cause', async () => {
    await using client = fixture.dial()
    const fault = await faultOf(client.system.getStatus({}, soon()))
    expect([fault.status, fault.code]).toEqual(['internal', 'internal'])
    expect(fault.incident).toMatch(/^[0-9a-f-]{36}$/)
    expect(`${fault.message} ${fault.hint}`).not.toMatch(/marker|path/)
  })
})

describe('a message', () => {
  it('BR-057 of 5 MiB is refused before core sees it', async () => {
    await using client = fixture.dial()
    const before = fixture.core.calls.length
    const fault = await faultOf(client.config.validate({ document: 'x'.repeat(5 * 1024 * 1024) }, soon()))
    expect([fault.status, fault.code]).toEqual(['resource_exhausted', 'message_too_large'])
    expect(fixture.core.calls.length).toBe(before)
  })

  it('BR-057 BR-063 just under 4 MiB passes whole, with 64-bit numbers', async () => {
    await using client = fixture.dial()
    const answer = await client.config.get({}, soon())
    expect(answer.document.length).toBe(4 * 1024 * 1024 - 64)
    expect(answer.revision).toBe(9007199254740993n)
  })

  it('BR-057 of 5 MiB as an answer is refused with RESOURCE_EXHAUSTED', async () => {
    await using client = fixture.dial()
    const fault = await faultOf(client.config.get({ version: 1 }, soon()))
    expect([fault.status, fault.code]).toEqual(['resource_exhausted', 'message_too_large'])
  })

  it('that unpacks to 256 MiB is refused and costs little', async () => {
    const before = await residentMib(fixture.daemon.process.pid ?? 0)
    const bomb = gzipSync(Buffer.alloc(256 * 1024 * 1024))
    const frame = Buffer.alloc(5)
    frame.writeUInt8(1, 0)
    frame.writeUInt32BE(bomb.length, 1)
    const answer = await rawCall({ 'grpc-encoding': 'gzip' }, Buffer.concat([frame, bomb]))
    expect(answer['grpc-status']).toBe('8')
    expect((await residentMib(fixture.daemon.process.pid ?? 0)) - before).toBeLessThan(64)
  })
})

describe('headers', () => {
  it('of 32 KiB are refused with a code', async () => {
    await using client = fixture.dial()
    const fault = await faultOf(
      client.system.version({}, { ...soon(), metadata: { big: 'x'.repeat(32 * 1024) } }),
    )
    expect([fault.status, fault.code]).toEqual(['resource_exhausted', 'metadata_too_large'])
  })

  it('of 64 KiB are refused', async () => {
    await using client = fixture.dial()
    const fault = await faultOf(
      client.system.version({}, { ...soon(), metadata: { big: 'x'.repeat(64 * 1024) } }),
    )
    expect([fault.status, fault.code]).toEqual(['resource_exhausted', 'metadata_too_large'])
  })
})

describe('1,000 idle connections', () => {
  it('keep no admin out and are bounded', async () => {
    const idle = Array.from({ length: 1000 }, () => tcpConnect(fixture.endpoint))
    for (const socket of idle) socket.on('error', () => undefined)
    await Promise.all(idle.map(async (socket) => once(socket, 'connect')))
    await using client = fixture.dial()
    expect((await client.system.version({}, soon())).node).toBe('cp-1')
    await eventually(() => idle.filter((socket) => !socket.destroyed).length <= 256)
    for (const socket of idle) socket.destroy()
  })
})

/** One unary call by hand; returns the headers that carry the status. */
async function rawCall(
  headers: Readonly<Record<string, string>>,
  body: Buffer,
): Promise<Record<string, unknown>> {
  const { host, port } = fixture.endpoint
  const session = http2Connect(`https://${host}:${port}`, { ...options(), servername: 'cp-1' })
  session.on('error', () => undefined)
  const stream = session.request({
    ':method': 'POST',
    ':path': '/stele.agent.v1.ConfigService/Validate',
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  })
  stream.on('error', () => undefined)
  stream.end(body)
  const [answer] = (await once(stream, 'response')) as [Record<string, unknown>]
  session.destroy()
  return answer
}
