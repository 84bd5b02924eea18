import { once } from 'node:events'
import { createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { SystemServiceService } from '#api'
import { systemClock } from '#kit/clock'
import { createLog } from '#kit/log'
import {
  connect,
  implement,
  parseIdentity,
  startExposedServer,
  type CallContext,
  type ClientTls,
  type ExposedServer,
} from '#rpc'
import {
  identityText,
  makeAuthority,
  makeClient,
  makeServer,
  type TestAuthority,
  type TestPair,
} from '../../support/certificates.ts'
import { freePort } from '../../support/free-port.ts'
import { eventually } from '../../support/wait.ts'
import { faultOf, soon } from '../gateway/harness.ts'

const services = { system: SystemServiceService }
const log = createLog('test', { write: () => undefined })
const closers: (() => PromiseLike<void> | void)[] = []

let authority: TestAuthority
let client: TestPair
let server: TestPair

beforeAll(async () => {
  authority = await makeAuthority()
  client = await makeClient(authority)
  server = await makeServer(authority)
})
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

const tls = (more: Partial<ClientTls> = {}): ClientTls => ({
  authorities: [authority.bundle.certificatePem],
  ...client,
  ...more,
})

async function serve(host: string, port = 0, pair = server): Promise<ExposedServer> {
  const identity = parseIdentity(identityText(pair, [authority.bundle.certificatePem]))
  if (!identity.ok) throw new Error(identity.error)
  const version = (node: string) => ({ version: '', runtime: '', api: '', node, bootId: '', platform: '' })
  const service = implement(
    { version: SystemServiceService.version },
    { version: async (_request, context: CallContext & { readonly peer: string }) => version(context.peer) },
    {
      chain: { guard: async (call) => ({ peer: String(call.metadata.get('user-agent')[0]) }) },
      log,
      clock: systemClock,
      defaultDeadlineMs: 5_000,
    },
  )
  const exposed = await startExposedServer({
    listen: [{ host, port }],
    identity: identity.value,
    clientCertificate: 'required',
    limits: { pending: 16, total: 16, perOwner: 16, handshakeTimeoutMs: 5_000 },
    log,
    clock: systemClock,
    services: [service],
    interceptors: [],
    maxMessageBytes: 1 << 20,
    maxStreams: 16,
    idleMs: 60_000,
  })
  closers.push(() => exposed[Symbol.asyncDispose]())
  return exposed
}

/** A server that takes connections and says nothing of its own; `port` 0 chooses one. */
async function silent(server: Server, port = 0): Promise<{ port: number; sockets: Socket[] }> {
  const sockets: Socket[] = []
  server.on('connection', (socket: Socket) => {
    sockets.push(socket)
    socket.on('error', () => undefined)
    // A socket that is not read does not learn of its end; a TLS server reads by itself.
    if (!('setSecureContext' in server)) socket.resume()
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  closers.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('no address')
  return { port: address.port, sockets }
}

function dial(host: string, port: number, more: Partial<ClientTls> = {}, localAddress?: string) {
  const made = connect(services, {
    endpoint: { host, port },
    tls: tls(more),
    ...(localAddress === undefined ? {} : { localAddress }),
  })
  closers.push(() => made.close())
  return made
}

describe('the authority', () => {
  it('BR-042 that is missing or blank ends the call before anything is dialled', async () => {
    const quiet = await silent(createTcpServer())
    for (const authorities of [[], [''], ['no PEM']]) {
      expect(() => dial('127.0.0.1', quiet.port, { authorities })).toThrow(/authority/)
    }
    expect(quiet.sockets).toEqual([])
  })

  it('BR-042 that did not sign the server ends the call before a byte of it is sent', async () => {
    const other = await makeAuthority('other')
    const bytes: Buffer[] = []
    const spy = createTlsServer(
      { cert: server.certificate, key: server.privateKey, ALPNProtocols: ['h2'] },
      (socket) => {
        socket.on('data', (data: Buffer) => bytes.push(data))
      },
    )
    const { port } = await silent(spy)
    const fault = await faultOf(
      dial('127.0.0.1', port, { authorities: [other.bundle.certificatePem] }).system.version({}, soon()),
    )
    expect([fault.status, fault.code]).toEqual(['unauthenticated', 'certificate_server_untrusted'])
    expect(bytes).toEqual([])
  })

  it('BR-042 may be the third of several, with CRLF and text around it', async () => {
    const [endpoint] = (await serve('127.0.0.1')).endpoints
    const others = [await makeAuthority('a'), await makeAuthority('b')].map(
      (one) => one.bundle.certificatePem,
    )
    const noisy = `about this CA\r\n${authority.bundle.certificatePem.replaceAll('\n', '\r\n')}trailing words\r\n`
    await dial('127.0.0.1', endpoint!.port, { authorities: [...others, noisy] }).system.version({}, soon())
  })
})

describe('an address', () => {
  it('BR-056 may be IPv6, and is checked against the IP SAN', async () => {
    const [endpoint] = (await serve('::1')).endpoints
    await dial('::1', endpoint!.port).system.version({}, soon())
  })

  it('BR-056 that the certificate does not name is refused', async () => {
    const [endpoint] = (await serve('127.0.0.3')).endpoints
    const fault = await faultOf(dial('127.0.0.3', endpoint!.port).system.version({}, soon()))
    expect([fault.status, fault.code]).toEqual(['unauthenticated', 'certificate_server_name'])
  })

  it('BR-065 behind which another node answers is refused', async () => {
    const [endpoint] = (await serve('127.0.0.1')).endpoints
    await dial('127.0.0.1', endpoint!.port, { expectedNode: 'cp-1' }).system.version({}, soon())
    const fault = await faultOf(
      dial('127.0.0.1', endpoint!.port, { expectedNode: 'cp-2' }).system.version({}, soon()),
    )
    expect(fault.code).toBe('certificate_server_node')
  })

  it('that the certificate does not name is good with a server name that it carries', async () => {
    const [endpoint] = (await serve('127.0.0.3')).endpoints
    await dial('127.0.0.3', endpoint!.port, { serverName: 'cp-1' }).system.version({}, soon())
  })

  it('that the certificate names does not help a server name that it does not carry', async () => {
    const [endpoint] = (await serve('127.0.0.1')).endpoints
    for (const serverName of ['cp-2', 'cp-1.example', '127.0.0.9']) {
      const fault = await faultOf(
        dial('127.0.0.1', endpoint!.port, { serverName }).system.version({}, soon()),
      )
      expect([fault.status, fault.code]).toEqual(['unauthenticated', 'certificate_server_name'])
      expect(fault.message).toContain('server name')
    }
  })

  it('has to belong to the expected node, also when the server name is right', async () => {
    const shared = await makeServer(authority, { name: 'cp-2', addresses: ['127.0.0.1'] })
    const [endpoint] = (await serve('127.0.0.1', 0, shared)).endpoints
    const both = { serverName: 'cp-2', expectedNode: 'cp-2' }
    await dial('127.0.0.1', endpoint!.port, both).system.version({}, soon())
    const other = { serverName: '127.0.0.1', expectedNode: 'cp-1' }
    const fault = await faultOf(dial('127.0.0.1', endpoint!.port, other).system.version({}, soon()))
    expect(fault.code).toBe('certificate_server_node')
    const unnamed = { serverName: 'cp-1', expectedNode: 'cp-2' }
    expect((await faultOf(dial('127.0.0.1', endpoint!.port, unnamed).system.version({}, soon()))).code).toBe(
      'certificate_server_name',
    )
  })

  it('is the source address when it is given', async () => {
    const quiet = await silent(createTcpServer())
    const call = dial('127.0.0.1', quiet.port, {}, '127.0.0.2').system.version(
      {},
      { ...soon(), deadlineMs: 5_000 },
    )
    call.catch(() => undefined)
    await eventually(() => quiet.sockets[0]?.remoteAddress === '127.0.0.2')
  })

  it('BR-055 where nobody listens is unreachable, which no certificate problem is', async () => {
    const fault = await faultOf(dial('127.0.0.1', await freePort()).system.version({}, soon()))
    expect([fault.status, fault.code]).toEqual(['unavailable', 'node_unreachable'])
  })
})

describe('a server that is silent', () => {
  it('BR-060 after TCP, then after TLS, then good on the same port, is found again', async () => {
    const tcp = createTcpServer()
    const { port, sockets } = await silent(tcp)
    const made = dial('127.0.0.1', port)
    const call = () => made.system.version({}, { ...soon(), deadlineMs: 300 })
    expect((await faultOf(call())).code).toBe('node_unreachable')
    await end(tcp, sockets)
    const half = createTlsServer({ cert: server.certificate, key: server.privateKey, ALPNProtocols: ['h2'] })
    const second = await silent(half, port)
    await eventually(
      async () => (await faultOf(call())).code === 'node_unreachable' && second.sockets.length > 0,
    )
    await end(half, second.sockets)
    await serve('127.0.0.1', port)
    await eventually(async () => made.system.version({}, { ...soon(), deadlineMs: 1_000 }))
  })
})

describe('a server that closes each connection after TLS', () => {
  it('BR-055 is asked twice, and then said to have refused a certificate in which we see nothing wrong', async () => {
    let connections = 0
    const spy = createTlsServer(
      { cert: server.certificate, key: server.privateKey, ALPNProtocols: ['h2'] },
      (socket) => {
        connections += 1
        socket.destroy()
      },
    )
    const { port } = await silent(spy)
    const fault = await faultOf(dial('127.0.0.1', port).system.version({}, soon()))
    expect([fault.status, fault.code]).toEqual(['unauthenticated', 'certificate_refused'])
    expect(connections).toBeGreaterThan(1)
  })

  it('because it stops is unreachable once it is gone', async () => {
    const spy = createTlsServer(
      { cert: server.certificate, key: server.privateKey, ALPNProtocols: ['h2'] },
      (socket) => {
        spy.close()
        socket.destroy()
      },
    )
    const { port } = await silent(spy)
    const fault = await faultOf(dial('127.0.0.1', port).system.version({}, soon()))
    expect([fault.status, fault.code]).toEqual(['unavailable', 'node_unreachable'])
  })
})

async function end(server: Server, sockets: readonly Socket[]): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  for (const socket of sockets) socket.destroy()
  await closed
}

describe('closing the client', () => {
  it.each([0, 1, 5, 30])('ends a connection that is being made, %i turns in', async (turns) => {
    const quiet = await silent(createTcpServer())
    const made = dial('127.0.0.1', quiet.port)
    const call = faultOf(made.system.version({}, soon()))
    for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    made.close()
    expect((await call).code).toBe('cancelled')
    await eventually(() => quiet.sockets.every((socket) => socket.destroyed))
  })
})
