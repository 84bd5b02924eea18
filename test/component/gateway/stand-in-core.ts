/** A small core on a unix socket: real gRPC through `implement`, with methods that misbehave on request. */
import * as grpc from '@grpc/grpc-js'
import { rmSync } from 'node:fs'
import { createServer, type Server as NetServer } from 'node:net'
import { once } from 'node:events'
import { ConfigServiceService, EventServiceService, LogServiceService, SystemServiceService } from '#api'
import { systemClock } from '#kit/clock'
import { createLog } from '#kit/log'
import { verifyClientCertificate } from '#pki'
import { implement, RpcFault, toIdentity, type CallContext, type Handlers, type Identity } from '#rpc'

type Context = CallContext & { readonly identity: Identity }

export type StandInCore = AsyncDisposable & {
  /** Paths that reached it, in order. */
  readonly calls: string[]
  /** Headers of the newest call. */
  readonly headers: () => grpc.Metadata
  /** Streams that are open in it now. */
  readonly openStreams: () => number
  /** Bytes that its streams have handed over. */
  readonly sent: () => number
}

const CHUNK = Buffer.alloc(64 * 1024, 'x')
const log = createLog('stand-in', { write: () => undefined })

/** Rows as in core's table, for the methods that tests call. Anything else is denied. */
const ROWS: Readonly<Record<string, readonly string[]>> = {
  Version: ['stele:reader', 'stele:admin'],
  WhoAmI: ['stele:reader', 'stele:admin'],
  GetStatus: ['stele:admin'],
  Reboot: ['stele:admin'],
  Validate: ['stele:admin'],
  Get: ['stele:admin'],
  Logs: ['stele:reader', 'stele:admin'],
  Watch: ['stele:admin'],
}

export async function startStandInCore(path: string, authorities: readonly string[]): Promise<StandInCore> {
  const calls: string[] = []
  let headers = new grpc.Metadata()
  let openStreams = 0
  let sent = 0
  const guard = async (call: CallContext) => {
    calls.push(call.path)
    headers = call.metadata
    const [der] = call.metadata.get('stele-peer-certificate-bin')
    const verified = verifyClientCertificate(der as Buffer, { authorities, now: new Date() })
    if (!verified.ok) throw new RpcFault('unauthenticated', verified.error.code, verified.error.message)
    const identity = toIdentity(verified.value, String(call.metadata.get('stele-peer-address')[0]))
    const row = ROWS[call.path.split('/').at(-1) ?? ''] ?? []
    if (!identity.roles.some((role) => row.includes(role)))
      throw new RpcFault('permission_denied', 'permission_denied', 'the role may not call this', {
        hint: 'another role',
      })
    return { identity }
  }
  async function* endless({ signal }: Context) {
    openStreams += 1
    try {
      while (!signal.aborted) {
        sent += CHUNK.length
        yield { lines: CHUNK, dropped: 0n }
      }
    } finally {
      openStreams -= 1
    }
  }
  async function* silent({ signal }: Context) {
    openStreams += 1
    try {
      yield { lines: Buffer.from('first\n'), dropped: 0n }
      if (!signal.aborted) await once(signal, 'abort')
    } finally {
      openStreams -= 1
    }
  }
  const system: Partial<Handlers<typeof SystemServiceService, Context>> = {
    version: async () => ({ version: '1', runtime: '', api: '', node: 'cp-1', bootId: '', platform: '' }),
    whoAmI: async (_request, { identity }) => ({
      commonName: identity.commonName,
      roles: [...identity.roles],
      unknownRoles: [...identity.unknownRoles],
      serial: identity.serial,
      notAfter: identity.notAfter,
      address: identity.address,
      methods: [],
    }),
    getStatus: async () => Promise.reject(new Error('marker-secret in /etc/inner/path')),
    reboot: async (_request, { signal }) => {
      if (!signal.aborted) await once(signal, 'abort')
      throw new Error('the caller is gone')
    },
  }
  const config: Partial<Handlers<typeof ConfigServiceService, Context>> = {
    validate: async () => ({ findings: [] }),
    get: async (request) => ({
      document: 'x'.repeat(request.version === 1 ? 5 * 1024 * 1024 : 4 * 1024 * 1024 - 64),
      revision: 9007199254740993n,
      digest: '',
      appliedAt: undefined,
      appliedBy: '',
    }),
  }
  const logs: Partial<Handlers<typeof LogServiceService, Context>> = {
    logs: (request, context) => (request.follow ? silent(context) : endless(context)),
  }
  const server = new grpc.Server({
    'grpc.enable_channelz': 0,
    'grpc.max_receive_message_length': 8 << 20,
    'grpc.max_send_message_length': 8 << 20,
  })
  const options = { chain: { guard }, log, clock: systemClock, defaultDeadlineMs: 10_000 }
  const add = <S extends object>(definition: S, handlers: object) => {
    // Methods without a handler here are never reached: their role is denied first.
    const made = implement(definition, handlers as Handlers<S, Context>, options)
    server.addService(made.definition, made.implementation)
  }
  add(SystemServiceService, system)
  add(ConfigServiceService, config)
  add(LogServiceService, logs)
  add(EventServiceService, {})
  const listener = await listen(server, path)
  return {
    calls,
    headers: () => headers,
    openStreams: () => openStreams,
    sent: () => sent,
    [Symbol.asyncDispose]: async () => {
      listener.close()
      server.forceShutdown()
      await Promise.resolve()
    },
  }
}

async function listen(server: grpc.Server, path: string): Promise<NetServer> {
  rmSync(path, { force: true })
  const injector = server.createConnectionInjector(grpc.ServerCredentials.createInsecure())
  const listener = createServer((socket) => injector.injectConnection(socket))
  listener.listen(path)
  await once(listener, 'listening')
  return listener
}
