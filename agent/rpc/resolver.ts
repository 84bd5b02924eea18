/**
 * How grpc-js learns where to connect: one address, given as channel options, handed to `net.connect` as it is. So a connection can have a source
 * address of its own and ends with its owner's signal, neither of which grpc-js has an option for.
 */
import * as grpc from '@grpc/grpc-js'
import type { Endpoint } from '#kit/endpoint'

const SCHEME = 'stele'
const ADDRESS_OPTION = 'stele.address'

export type DialAddress = Endpoint & {
  readonly localAddress?: string
  /** Ends the TCP connection, also while it is being made. */
  readonly signal: AbortSignal
}

/** Returns the target and the options of a channel that goes to `address` alone. */
export function channelTo(address: DialAddress): { target: string; options: grpc.ChannelOptions } {
  registerOnce()
  // The text is what `:authority` and messages show; the connection is made with the option.
  const host = address.host.includes(':') ? `[${address.host}]` : address.host
  return { target: `${SCHEME}:${host}:${address.port}`, options: { [ADDRESS_OPTION]: address } }
}

function registerOnce(): void {
  grpc.experimental.registerResolver(SCHEME, FixedResolver)
}

type Listener = ConstructorParameters<Parameters<typeof grpc.experimental.registerResolver>[1]>[1]

class FixedResolver implements grpc.experimental.Resolver {
  readonly #listener: Listener
  readonly #address: DialAddress
  #isDone = false

  constructor(_target: grpc.experimental.GrpcUri, listener: Listener, options: grpc.ChannelOptions) {
    this.#listener = listener
    // Set by channelTo alone.
    this.#address = options[ADDRESS_OPTION] as DialAddress
  }

  updateResolution(): void {
    if (this.#isDone) return
    this.#isDone = true
    const endpoints = [{ addresses: [this.#address] }]
    process.nextTick(() => {
      // A channel that was closed meanwhile would connect all the same.
      if (this.#address.signal.aborted) return
      this.#listener(grpc.experimental.statusOrFromValue(endpoints), {}, null, '')
    })
  }

  destroy(): void {
    this.#isDone = false
  }

  static getDefaultAuthority(target: grpc.experimental.GrpcUri): string {
    return target.path
  }
}
