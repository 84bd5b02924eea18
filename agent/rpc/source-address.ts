/**
 * Lets a channel leave from a chosen local address: nodes that share one machine have addresses of their own, and a certificate is given for
 * the address that a request comes from. grpc-js hands the address object of a resolved endpoint to `net.connect`, which knows `localAddress`.
 */
import { experimental } from '@grpc/grpc-js'
import { formatEndpoint, parseEndpoint, type Endpoint } from '#kit/endpoint'

const SCHEME = 'stele-from'
const SEPARATOR = '/'

/** Returns the target of a channel to `endpoint`, whose host is an IP address, that leaves from `localAddress`. */
export function targetFrom(endpoint: Endpoint, localAddress: string): string {
  // Registering a scheme again replaces it by itself.
  experimental.registerResolver(SCHEME, SourceAddressResolver)
  return `${SCHEME}:${localAddress}${SEPARATOR}${formatEndpoint(endpoint)}`
}

class SourceAddressResolver implements experimental.Resolver {
  readonly #path: string
  readonly #listener: experimental.ResolverListener
  #answered = false

  constructor(target: experimental.GrpcUri, listener: experimental.ResolverListener) {
    this.#path = target.path
    this.#listener = listener
  }

  updateResolution(): void {
    if (this.#answered) return
    this.#answered = true
    process.nextTick(() => this.#answer())
  }

  #answer(): void {
    const cut = this.#path.indexOf(SEPARATOR)
    const parsed = parseEndpoint(this.#path.slice(cut + 1), { defaultPort: 443 })
    if (!parsed.ok) throw parsed.error
    const address = { ...parsed.value, localAddress: this.#path.slice(0, cut) }
    this.#listener(experimental.statusOrFromValue([{ addresses: [address] }]), {}, null, '')
  }

  destroy(): void {
    this.#answered = false
  }

  static getDefaultAuthority(target: experimental.GrpcUri): string {
    return target.path.slice(target.path.indexOf(SEPARATOR) + 1)
  }
}
