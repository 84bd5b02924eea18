import { once } from 'node:events'
import { connect as tcpConnect } from 'node:net'
import { connect as tlsConnect } from 'node:tls'
import { afterEach, describe, expect, it } from 'vitest'
import { agentServices } from '#api'
import { connect } from '#rpc'
import { identityText, makeAuthority, makeClient, makeServer } from '../../support/certificates.ts'
import { residentMib } from '../../support/processes.ts'
import { eventually } from '../../support/wait.ts'
import { faultOf, soon, startFixture, type Fixture } from './harness.ts'
import { startStandInCore } from './stand-in-core.ts'

let open: Fixture | undefined

afterEach(async () => {
  await open?.[Symbol.asyncDispose]()
  open = undefined
})

async function start(...arguments_: Parameters<typeof startFixture>): Promise<Fixture> {
  open = await startFixture(...arguments_)
  return open
}

/** Serial of the certificate that a new connection is shown. */
async function shown(fixture: Fixture): Promise<string | undefined> {
  const socket = tlsConnect({
    ...fixture.endpoint,
    ca: fixture.authority.bundle.certificatePem,
    cert: fixture.admin.certificate,
    key: fixture.admin.privateKey,
    ALPNProtocols: ['h2'],
    servername: 'cp-1',
  })
  await once(socket, 'secureConnect')
  const serial = socket.getPeerX509Certificate()?.serialNumber
  socket.destroy()
  return serial
}

describe('a replaced identity', () => {
  it('BR-053 serves new connections while an open stream lives on; a pair that does not match is refused', async () => {
    const fixture = await start()
    const ca = [fixture.authority.bundle.certificatePem]
    await using client = fixture.dial()
    const stop = new AbortController()
    const lines = client.log
      .logs({ service: 'x', follow: true }, { signal: stop.signal })
      [Symbol.asyncIterator]()
    expect((await lines.next()).value).toMatchObject({ lines: Buffer.from('first\n') })
    const before = await shown(fixture)

    const [one, other] = [await makeServer(fixture.authority), await makeServer(fixture.authority)]
    fixture.writeIdentity(identityText({ ...one, privateKey: other.privateKey }, ca))
    await eventually(() => fixture.daemon.output().includes('certificate and key do not belong together'))
    expect(await shown(fixture)).toBe(before)

    fixture.writeIdentity(identityText(one, ca))
    await eventually(async () => (await shown(fixture)) !== before)
    expect(fixture.core.openStreams()).toBe(1)
    expect(fixture.daemon.output()).not.toContain('PRIVATE')
    stop.abort(new Error('enough'))
    await expect(lines.next()).rejects.toThrow('enough')
    await eventually(() => fixture.core.openStreams() === 0)
  })

  it('BR-054 without the old authority refuses its clients, also on connections that are open', async () => {
    const fixture = await start()
    const next = await makeAuthority('next')
    await using client = fixture.dial()
    await client.system.version({}, soon())
    fixture.writeIdentity(identityText(await makeServer(next), [next.bundle.certificatePem]))
    await eventually(() => fixture.daemon.output().includes('identity replaced'))
    const fault = await faultOf(client.system.version({}, soon()))
    expect([fault.status, fault.code]).toEqual(['unauthenticated', 'certificate_untrusted'])
    await using successor = connect(agentServices, {
      endpoint: fixture.endpoint,
      tls: { authorities: [next.bundle.certificatePem], ...(await makeClient(next)) },
    })
    // The stand-in core still knows the old authority alone: that it answers shows that the gateway let the call pass.
    expect((await faultOf(successor.system.version({}, soon()))).code).toBe('certificate_untrusted')
  })
})

describe('a certificate that expires on an open connection', () => {
  it('is refused from then on', async () => {
    const fixture = await start()
    await using client = fixture.dial(
      await makeClient(fixture.authority, { now: new Date(Date.now() - 3600_000), lifetimeSeconds: 3602 }),
    )
    await client.system.version({}, soon())
    const fault = await eventually(() =>
      client.system.version({}, soon()).then(
        () => undefined,
        (error: unknown) => error,
      ),
    )
    expect(fault).toMatchObject({ code: 'certificate_expired', status: 'unauthenticated' })
  })
})

describe('a client that does not read', () => {
  it('BR-061 BR-057 costs bounded memory in both processes and is cut off; core is told', async () => {
    const fixture = await start(['--stall-ms', '1500'])
    const pid = fixture.daemon.process.pid ?? 0
    const before = await residentMib(pid)
    await using reader = fixture.dial()
    await using admin = fixture.dial()
    const stop = new AbortController()
    const streams = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const stream = reader.log.logs({ service: 'x' }, { signal: stop.signal })[Symbol.asyncIterator]()
        await stream.next()
        return stream
      }),
    )
    expect((await admin.system.version({}, soon())).node).toBe('cp-1')
    await eventually(() => fixture.daemon.output().includes('client_stalled'))
    await eventually(() => fixture.core.openStreams() === 0)
    expect(fixture.core.sent()).toBeLessThan(64 * 1024 * 1024)
    expect((await residentMib(pid)) - before).toBeLessThan(96)
    stop.abort(new Error('enough'))
    await Promise.allSettled(streams.map(async (stream) => stream.next()))
    expect((await admin.system.version({}, soon())).node).toBe('cp-1')
  })

  it('BR-061 and followers that vanish leave nothing open', async () => {
    const fixture = await start()
    for (let round = 0; round < 5; round += 1) {
      const client = fixture.dial()
      const signal = AbortSignal.timeout(15_000)
      const streams = Array.from({ length: 20 }, () =>
        client.log.logs({ service: 'x', follow: true }, { signal })[Symbol.asyncIterator](),
      )
      await Promise.all(streams.map(async (stream) => stream.next()))
      const ends = streams.map(async (stream) => stream.next())
      client.close()
      await Promise.allSettled(ends)
    }
    await eventually(() => fixture.core.openStreams() === 0)
  })

  it('BR-059 and is frozen is gone after its keepalive', async () => {
    const fixture = await start()
    // A peer that completes the handshake and opens a stream, and then never reads nor answers a ping: its socket is paused.
    const socket = tlsConnect({
      ...fixture.endpoint,
      ca: fixture.authority.bundle.certificatePem,
      cert: fixture.admin.certificate,
      key: fixture.admin.privateKey,
      ALPNProtocols: ['h2'],
      servername: 'cp-1',
    })
    socket.on('error', () => undefined)
    await once(socket, 'secureConnect')
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]))
    const closed = once(socket, 'close')
    socket.once('data', () => socket.on('data', () => undefined))
    // It reads, so that it learns of the end, but never answers the ping (RFC 9113 section 6.7).
    await closed
  }, 25_000)
})

describe('core', () => {
  it('may start after the gateway, and be restarted: the call waits', async () => {
    const fixture = await start()
    await fixture.core[Symbol.asyncDispose]()
    await using client = fixture.dial()
    const waiting = client.system.version({}, soon())
    await using core = await startStandInCore(fixture.socket, [fixture.authority.bundle.certificatePem])
    expect((await waiting).node).toBe('cp-1')
    expect(core.calls).toEqual(['/stele.agent.v1.SystemService/Version'])
  })

  it('that is away is told in our own words, without its path', async () => {
    const fixture = await start(['--default-deadline-ms', '300'])
    await fixture.core[Symbol.asyncDispose]()
    await using client = fixture.dial()
    const fault = await faultOf(client.system.version({}, { ...soon(), deadlineMs: 8_000 }))
    expect(fault.status).toBe('deadline_exceeded')
    expect(JSON.stringify([fault.message, fault.hint, (fault.cause as Error).message])).not.toContain('.sock')
  })

  it('learns that the caller left', async () => {
    const fixture = await start()
    await using client = fixture.dial()
    const stop = new AbortController()
    const call = client.system.reboot({}, { signal: stop.signal })
    call.catch(() => undefined)
    await eventually(() => fixture.core.calls.length === 1)
    stop.abort(new Error('left'))
    await expect(call).rejects.toThrow('left')
  })
})

describe('stopping', () => {
  it('BR-058 ends streams with UNAVAILABLE, lets the unary call end, and exits within its grace', async () => {
    const fixture = await start(['--grace-ms', '1000'])
    await using client = fixture.dial()
    const signal = AbortSignal.timeout(15_000)
    const stream = client.log.logs({ service: 'x', follow: true }, { signal })[Symbol.asyncIterator]()
    await stream.next()
    const stuck = client.system.reboot({}, { signal })
    stuck.catch(() => undefined)
    await eventually(() => fixture.core.calls.length === 2)
    const end = faultOf(stream.next())
    expect(await fixture.daemon.stop('SIGTERM')).toBe(0)
    expect(await end).toMatchObject({ status: 'unavailable', code: 'gateway_stopping' })
    await expect(stuck).rejects.toMatchObject({ status: 'unavailable' })
  })

  it('follows the supervisor when that is gone', async () => {
    const fixture = await start()
    const exited = once(fixture.daemon.process, 'exit')
    fixture.daemon.process.disconnect()
    expect((await exited)[0]).toBe(0)
  })
})

describe('an idle connection', () => {
  it('that never speaks HTTP/2 is closed', async () => {
    const fixture = await start(['--idle-ms', '300', '--handshake-timeout-ms', '300'])
    const tls = tlsConnect({
      ...fixture.endpoint,
      ca: fixture.authority.bundle.certificatePem,
      cert: fixture.admin.certificate,
      key: fixture.admin.privateKey,
      ALPNProtocols: ['h2'],
      servername: 'cp-1',
    })
    tls.on('error', () => undefined)
    tls.resume()
    await once(tls, 'close')
    const tcp = tcpConnect(fixture.endpoint)
    tcp.on('error', () => undefined)
    tcp.resume()
    await once(tcp, 'close')
  })
})

describe('listening', () => {
  it.each(['[::1]:0', '[::]:0'])('BR-056 works on %s', async (listen) => {
    const fixture = await start([], { listen })
    await using client = connect(agentServices, {
      endpoint: { host: '::1', port: fixture.endpoint.port },
      tls: { authorities: [fixture.authority.bundle.certificatePem], ...fixture.admin },
    })
    expect((await client.system.whoAmI({}, soon())).address).toBe('::1')
  })
})
