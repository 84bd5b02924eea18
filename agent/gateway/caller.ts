/**
 * Who is at the other end of a TLS connection. OpenSSL has verified the certificate when the connection was made; it is verified again for every
 * call, because connections live on after a certificate has expired and after an authority was taken away. Core does the same once more.
 */
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Clock } from '#kit/clock'
import { verifyClientCertificate, type VerifiedClient } from '#pki'
import { RpcFault } from '#rpc'

type Known = { readonly client: VerifiedClient; readonly authorities: readonly string[] }

export class CallerBook {
  readonly #clock: Clock
  readonly #known = new LRUCache<string, Known>({ max: 512 })
  #authorities: readonly string[]

  constructor(authorities: readonly string[], clock: Clock) {
    this.#authorities = authorities
    this.#clock = clock
  }

  /** The authorities that count from now on, also for connections that are open. */
  trust(authorities: readonly string[]): void {
    this.#authorities = authorities
  }

  /** Returns who holds the certificate (DER); throws UNAUTHENTICATED with the reason as its code. */
  identify(der: Buffer | undefined): VerifiedClient {
    if (der === undefined || der.length === 0)
      throw new RpcFault('unauthenticated', 'certificate_required', 'the call carries no client certificate')
    const key = createHash('sha256').update(der).digest('base64')
    const known = this.#known.get(key)
    const now = this.#clock.now()
    if (known !== undefined && known.authorities === this.#authorities && now < known.client.notAfter)
      return known.client
    const verified = verifyClientCertificate(der, { authorities: this.#authorities, now })
    if (!verified.ok) {
      throw new RpcFault('unauthenticated', verified.error.code, verified.error.message, {
        hint: verified.error.hint ?? 'ask an administrator for a new certificate',
      })
    }
    this.#known.set(key, { client: verified.value, authorities: this.#authorities })
    return verified.value
  }
}
