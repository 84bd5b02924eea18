import * as grpc from '@grpc/grpc-js'
import type { Endpoint } from '#kit/endpoint'
import { Attempts, dialCredentials, type ClientTls } from './dial.ts'
import { channelTo } from './resolver.ts'
import { RpcFault } from './status.ts'

export type ClientOptions = {
  readonly endpoint: Endpoint | { readonly socket: string }
  /** Required for a TCP endpoint. */
  readonly tls?: ClientTls
  /** Source address of the connection. */
  readonly localAddress?: string
  /** Default 4 MiB, both ways. */
  readonly maxMessageBytes?: number
}

const HANDSHAKE_TIMEOUT_MS = 5_000
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024

/** The channel of one client, replaced when it got stuck. */
export class Line {
  readonly #options: ClientOptions
  readonly attempts = new Attempts()
  #current: { readonly client: grpc.Client; readonly owner: AbortController } | undefined
  #isClosed = false

  constructor(options: ClientOptions) {
    this.#options = options
    this.#current = this.#open()
  }

  get tls(): ClientTls | undefined {
    return this.#options.tls
  }

  client(): grpc.Client {
    if (this.#isClosed) throw closed()
    this.#current ??= this.#open()
    return this.#current.client
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  isConnected(): boolean {
    return this.#current?.client.getChannel().getConnectivityState(false) === grpc.connectivityState.READY
  }

  /** Drops a channel that has not connected in time, with its sockets. */
  renew(stuck: grpc.Client): void {
    if (this.#current?.client !== stuck || this.isConnected()) return
    this.#drop()
  }

  close(): void {
    this.#isClosed = true
    this.#drop()
  }

  #drop(): void {
    this.#current?.owner.abort()
    this.#current?.client.close()
    this.#current = undefined
  }

  #open(): { readonly client: grpc.Client; readonly owner: AbortController } {
    const { endpoint, tls, localAddress } = this.#options
    const owner = new AbortController()
    if ('socket' in endpoint) {
      const credentials = grpc.credentials.createInsecure()
      return {
        client: new grpc.Client(`unix:${endpoint.socket}`, credentials, this.#channelOptions()),
        owner,
      }
    }
    if (tls === undefined)
      throw new RpcFault('failed_precondition', 'authority_missing', 'a TCP endpoint needs TLS')
    const credentials = dialCredentials({
      endpoint,
      tls,
      attempts: this.attempts,
      handshakeTimeoutMs: HANDSHAKE_TIMEOUT_MS,
      signal: owner.signal,
    })
    const { target, options } = channelTo({
      ...endpoint,
      signal: owner.signal,
      ...(localAddress === undefined ? {} : { localAddress }),
    })
    return { client: new grpc.Client(target, credentials, { ...this.#channelOptions(), ...options }), owner }
  }

  #channelOptions(): grpc.ChannelOptions {
    const limit = this.#options.maxMessageBytes ?? MAX_MESSAGE_BYTES
    return {
      'grpc.max_receive_message_length': limit,
      'grpc.max_send_message_length': limit,
      'grpc.keepalive_time_ms': 10_000,
      'grpc.keepalive_timeout_ms': 5_000,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 2_000,
      'grpc.enable_channelz': 0,
      'grpc.enable_retries': 0,
      'grpc.enable_http_proxy': 0,
      'grpc.service_config_disable_resolution': 1,
      // One channel, one set of sockets: options of ours are no part of the key of the shared pool.
      'grpc.use_local_subchannel_pool': 1,
      'grpc-node.flow_control_window': 1024 * 1024,
    }
  }
}

/** What a call of a closed client ends with. */
export function closed(): RpcFault {
  return new RpcFault('cancelled', 'cancelled', 'the client is closed')
}
