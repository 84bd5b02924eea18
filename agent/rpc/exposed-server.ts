/**
 * A gRPC server on a TLS port that strangers can reach: what gateway and trust have in common.
 *
 * Invariants: every buffer has a cap; a connection without calls is closed; stopping ends within its grace whatever clients do.
 */
import type { TLSSocket } from 'node:tls'
import * as grpc from '@grpc/grpc-js'
import type { Endpoint } from '#kit/endpoint'
import type { NodeIdentity } from './identity-file.ts'
import type { Implemented } from './method.ts'
import { listenTls, type TlsListener, type TlsListenerOptions } from './tls-listener.ts'

export type ExposedServerOptions = Omit<TlsListenerOptions, 'onConnection'> & {
  readonly services: readonly Implemented[]
  readonly interceptors: readonly grpc.ServerInterceptor[]
  readonly maxMessageBytes: number
  /** Concurrent calls of one connection. */
  readonly maxStreams: number
  /** A connection without a call is closed after this long, one that never speaks HTTP/2 too. */
  readonly idleMs: number
}

export type ExposedServer = AsyncDisposable & {
  readonly endpoints: readonly Endpoint[]
  readonly connections: TlsListener['connections']
  reload(identity: NodeIdentity): void
  /** Ends the connection of a peer, as `getPeer()` of a call names it. */
  cut(peer: string): void
  /**
   * Accepts nothing more, tells every client, waits for calls at most `graceMs`, then ends what is left; just before that, `lastWords` may answer
   * it.
   */
  drain(graceMs: number, lastWords?: () => void): Promise<void>
}

/** How long answers given at the last moment may take to get out. */
const LAST_WORDS_MS = 250

/** Rejects with the system error when a port cannot be had. */
export async function startExposedServer(options: ExposedServerOptions): Promise<ExposedServer> {
  const server = new grpc.Server({
    interceptors: [...options.interceptors],
    'grpc.max_receive_message_length': options.maxMessageBytes,
    'grpc.max_send_message_length': options.maxMessageBytes,
    'grpc.max_concurrent_streams': options.maxStreams,
    'grpc.max_connection_idle_ms': options.idleMs,
    'grpc.keepalive_time_ms': 10_000,
    'grpc.keepalive_timeout_ms': 5_000,
    // Megabytes of one HTTP/2 session, as http2.createServer has it.
    'grpc-node.max_session_memory': 16,
    'grpc.enable_channelz': 0,
  })
  for (const service of options.services) server.addService(service.definition, service.implementation)
  const injector = server.createConnectionInjector(grpc.ServerCredentials.createInsecure())
  const listener = await listenTls({
    ...options,
    onConnection: (socket: TLSSocket) => injector.injectConnection(socket),
  })
  const force = () => {
    listener.close()
    server.forceShutdown()
  }
  return {
    endpoints: listener.endpoints,
    get connections() {
      return listener.connections
    },
    reload: (identity) => listener.reload(identity),
    cut: (peer) => listener.cut(peer),
    drain: async (graceMs, lastWords) => {
      listener.stopAccepting()
      // `tryShutdown` would not wait for sessions that were injected while channelz is off.
      injector.drain(graceMs + LAST_WORDS_MS)
      await withinGrace(listener.emptied(), graceMs)
      lastWords?.()
      await withinGrace(listener.emptied(), LAST_WORDS_MS)
      force()
    },
    [Symbol.asyncDispose]: () => Promise.resolve(force()),
  }
}

async function withinGrace(done: Promise<void>, graceMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, graceMs)
  })
  await Promise.race([done, late])
  clearTimeout(timer)
}
