/** Trust as a whole: an exposed server without client certificates that serves TrustService and nothing else. */
import * as grpc from '@grpc/grpc-js'
import { trustServices, TrustServiceService } from '#api'
import type { Clock } from '#kit/clock'
import type { Endpoint } from '#kit/endpoint'
import type { Log } from '#kit/log'
import {
  connect,
  implement,
  plainAddress,
  RpcFault,
  startExposedServer,
  wireStatus,
  type ConnectionLimits,
  type NodeIdentity,
} from '#rpc'
import { trustHandlers } from './forward.ts'
import { JoinThrottle, type ThrottlePolicy } from './throttle.ts'
import type { TurnPolicy } from './turn-queue.ts'

export type TrustOptions = {
  readonly listen: readonly Endpoint[]
  /** Path of core's socket for trust. */
  readonly core: string
  readonly identity: NodeIdentity
  readonly connections: ConnectionLimits
  readonly throttle: ThrottlePolicy
  readonly turns: TurnPolicy
  /** The longest that a call waits for its turn. */
  readonly waitMs: number
  readonly maxMessageBytes: number
  readonly idleMs: number
  readonly deadlineMs: number
  readonly log: Log
  readonly clock: Clock
}

export type Trust = AsyncDisposable & {
  readonly endpoints: readonly Endpoint[]
  reload(identity: NodeIdentity): void
  drain(graceMs: number): Promise<void>
}

/** A node sends no headers of its own. */
const MAX_HEADERS = 16
const MAX_STREAMS = 4
/** Set by trust itself, before a handler sees the call. */
const ADDRESS_HEADER = 'stele-peer-address'

/** Rejects with the system error when a port cannot be had. Core need not be up. */
export async function startTrust(options: TrustOptions): Promise<Trust> {
  const core = connect(trustServices, { endpoint: { socket: options.core } })
  const throttle = new JoinThrottle(options.throttle)
  const service = implement(TrustServiceService, trustHandlers({ ...options, core, throttle }), {
    chain: {
      guard: (call) => {
        const [address] = call.metadata.get(ADDRESS_HEADER)
        return Promise.resolve({ address: typeof address === 'string' ? address : 'unknown' })
      },
    },
    log: options.log,
    clock: options.clock,
    defaultDeadlineMs: options.deadlineMs,
  })
  const server = await startExposedServer({
    ...options,
    clientCertificate: 'none',
    limits: options.connections,
    services: [service],
    interceptors: [onlyTheAddress],
    maxStreams: MAX_STREAMS,
  }).catch((error: unknown) => {
    core.close()
    throw error
  })
  return {
    endpoints: server.endpoints,
    reload: (identity) => server.reload(identity),
    drain: async (graceMs) => {
      await server.drain(graceMs)
      core.close()
    },
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]()
      core.close()
    },
  }
}

/** Replaces whatever headers a client sent by the one that says where it came from. */
const onlyTheAddress: grpc.ServerInterceptor = (_method, call) =>
  new grpc.ServerInterceptingCall(call, {
    start: (next) => {
      next({
        onReceiveMetadata: (metadata, pass) => {
          if (Object.keys(metadata.getMap()).length > MAX_HEADERS) {
            call.sendStatus(
              wireStatus(
                new RpcFault('resource_exhausted', 'metadata_too_large', 'the call carries too many headers'),
              ),
            )
            return
          }
          const known = new grpc.Metadata()
          const peer = call.getPeer()
          known.set(ADDRESS_HEADER, plainAddress(peer.slice(0, Math.max(0, peer.lastIndexOf(':')))))
          pass(known)
        },
      })
    },
  })
