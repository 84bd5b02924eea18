/** The gateway as a whole: an exposed server whose every method is passed to core. */
import * as grpc from '@grpc/grpc-js'
import { agentServices } from '#api'
import type { Clock } from '#kit/clock'
import type { Endpoint } from '#kit/endpoint'
import type { Log } from '#kit/log'
import {
  RAW,
  startExposedServer,
  type ConnectionLimits,
  type ExposedServer,
  type Implemented,
  type MethodDefinition,
  type NodeIdentity,
} from '#rpc'
import { admission } from './admission.ts'
import { CallerBook } from './caller.ts'
import { forwardStream, forwardUnary, type ForwardOptions, type OpenCalls } from './forward.ts'
import { CallLimiter, type CallLimits } from './limit.ts'

export type GatewayOptions = {
  readonly listen: readonly Endpoint[]
  /** Path of core's socket. */
  readonly core: string
  readonly identity: NodeIdentity
  readonly connections: ConnectionLimits
  readonly calls: CallLimits
  readonly maxMessageBytes: number
  readonly maxStreams: number
  readonly idleMs: number
  readonly stallMs: number
  readonly defaultDeadlineMs: number
  readonly maxDeadlineMs: number
  readonly log: Log
  readonly clock: Clock
}

export type Gateway = AsyncDisposable & {
  readonly endpoints: readonly Endpoint[]
  reload(identity: NodeIdentity): void
  /** Two stages: streams end with UNAVAILABLE and unary calls may finish, at most `graceMs`; then everything ends. */
  drain(graceMs: number): Promise<void>
}

/** Rejects with the system error when a port cannot be had. Core need not be up. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const [openStreams, openUnary]: [OpenCalls, OpenCalls] = [new Set(), new Set()]
  const callers = new CallerBook(options.identity.authorities, options.clock)
  const core = connectCore(options)
  let isStopping = false
  // The exposed server is made of what needs to cut its connections.
  const late: { server?: ExposedServer } = {}
  const cut = (peer: string) => late.server?.cut(peer)
  const forward: ForwardOptions = { ...options, core, cut, openStreams, openUnary }
  const server = await startExposedServer({
    ...options,
    clientCertificate: 'required',
    limits: options.connections,
    services: Object.values(agentServices).map((service) => passThrough(service, forward)),
    interceptors: [
      admission({
        ...options,
        callers,
        limiter: new CallLimiter(options.calls),
        isStopping: () => isStopping,
        cut,
      }),
    ],
  }).catch((error: unknown) => {
    core.close()
    throw error
  })
  late.server = server
  return {
    endpoints: server.endpoints,
    reload: (identity) => {
      callers.trust(identity.authorities)
      server.reload(identity)
    },
    drain: async (graceMs) => {
      isStopping = true
      for (const stop of [...openStreams]) stop()
      await server.drain(graceMs, () => {
        for (const stop of [...openUnary]) stop()
      })
      core.close()
    },
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]()
      core.close()
    },
  }
}

function passThrough(service: object, options: ForwardOptions): Implemented {
  const definition: Record<string, grpc.MethodDefinition<Buffer, Buffer>> = {}
  const implementation: grpc.UntypedServiceImplementation = {}
  // As ts-proto writes service definitions.
  for (const [name, method] of Object.entries(
    service as Record<string, MethodDefinition<unknown, unknown>>,
  )) {
    definition[name] = { ...method, ...RAW, originalName: name }
    implementation[name] = method.responseStream
      ? forwardStream(method, options)
      : forwardUnary(method, options)
  }
  return { definition, implementation }
}

function connectCore(options: GatewayOptions): grpc.Client {
  return new grpc.Client(`unix:${options.core}`, grpc.credentials.createInsecure(), {
    'grpc.max_receive_message_length': options.maxMessageBytes,
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 500,
    'grpc.min_reconnect_backoff_ms': 100,
    'grpc.enable_channelz': 0,
    'grpc.service_config_disable_resolution': 1,
    'grpc.use_local_subchannel_pool': 1,
  })
}
