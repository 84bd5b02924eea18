/** Core's two doors: the agent API for the gateway, TrustService for trust. Each has its own gRPC server and its own peer. */
import * as grpc from '@grpc/grpc-js'
import type { Socket } from 'node:net'
import type { Log } from '#kit/log'
import { listenUnix } from './unix-listener.ts'
import type { PeerCheck } from './peer.ts'

/** What `implement` of the rpc face makes of a service definition and its handlers. */
export type Implemented = {
  readonly definition: grpc.ServiceDefinition
  readonly implementation: grpc.UntypedServiceImplementation
}

export type DoorOptions = {
  readonly path: string
  readonly uid: number
  readonly peer: PeerCheck
  readonly services: readonly Implemented[]
  readonly log: Log
}

/** Calls get this long to end by themselves at a stop, and are then cut; within the five seconds that a supervisor gives. */
const DRAIN_MS = 4_000
const MAX_MESSAGE = 4 * 1024 * 1024

/** Returns an open door; closing it lets calls finish for four seconds and then cuts them. */
export async function openDoor(options: DoorOptions): Promise<AsyncDisposable> {
  const server = new grpc.Server({
    'grpc.enable_channelz': 0,
    'grpc.max_receive_message_length': MAX_MESSAGE,
    'grpc.max_send_message_length': MAX_MESSAGE,
  })
  for (const { definition, implementation } of options.services) server.addService(definition, implementation)
  const injector = server.createConnectionInjector(grpc.ServerCredentials.createInsecure())
  const listener = await listenUnix({
    ...options,
    accept: (socket: Socket) => injector.injectConnection(socket),
  })
  return {
    [Symbol.asyncDispose]: async () => {
      await listener[Symbol.asyncDispose]()
      injector.drain(DRAIN_MS)
      await shutdown(server)
    },
  }
}

async function shutdown(server: grpc.Server): Promise<void> {
  await new Promise<void>((resolve) => {
    const force = setTimeout(() => {
      server.forceShutdown()
      resolve()
    }, DRAIN_MS)
    server.tryShutdown(() => {
      clearTimeout(force)
      resolve()
    })
  })
}
