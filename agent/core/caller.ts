/**
 * Who calls: taken from the client certificate alone, which core verifies itself. The gateway passes the certificate on; what else it may say
 * about the caller is not believed, so that a gateway in the wrong hands can replay a certificate it has seen and can mint no role.
 *
 * Invariants: an unknown authority, an empty list of authorities and a denied serial let nobody in; a lost list of denials lets in
 * administrators only; validity is checked at every call.
 */
import { createHash, X509Certificate } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Clock } from '#kit/clock'
import { verifyClientCertificate, type VerifiedClient } from '#pki'
import { RpcFault, toIdentity, type Identity } from '#rpc'

/** As in system: DER of the leaf, set by the gateway after it has removed what the client sent under such a name. */
export const CERTIFICATE_HEADER = 'stele-peer-certificate-bin'
export const ADDRESS_HEADER = 'stele-peer-address'

/** More than any client certificate of ours; a bigger one is refused before it is parsed. */
const MAX_CERTIFICATE = 16 * 1024

/** What is read of gRPC metadata. */
type Headers = { get(name: string): readonly (string | Buffer)[] }

type Known = { readonly client: VerifiedClient; readonly notBefore: number; readonly authorities: string }

export class CallerCheck {
  readonly #authorities: () => readonly string[]
  readonly #isDenied: (serial: string) => boolean | 'unknown'
  readonly #clock: Clock
  readonly #known = new LRUCache<string, Known>({ max: 256 })

  constructor(options: {
    readonly authorities: () => readonly string[]
    /** `unknown` when the list of denials is lost. */
    readonly isDenied: (serial: string) => boolean | 'unknown'
    readonly clock: Clock
  }) {
    this.#authorities = options.authorities
    this.#isDenied = options.isDenied
    this.#clock = options.clock
  }

  /** Returns the caller; throws UNAUTHENTICATED with the reason as its code. */
  identify(headers: Headers): Identity {
    const [der, second] = headers.get(CERTIFICATE_HEADER)
    if (!Buffer.isBuffer(der) || der.length === 0 || der.length > MAX_CERTIFICATE || second !== undefined) {
      throw new RpcFault('unauthenticated', 'no_client_certificate', 'the call carries no client certificate')
    }
    const client = this.#verify(der)
    const denied = this.#isDenied(client.serial)
    if (denied === true) {
      throw new RpcFault('unauthenticated', 'certificate_denied', 'this certificate is denied on this node', {
        hint: 'ask an administrator for a new certificate',
      })
    }
    const identity = toIdentity(client, addressOf(headers))
    // Somebody must be able to acknowledge the loss; whoever cannot is not let in on the word of a list that is gone.
    if (denied === 'unknown' && !identity.roles.includes('stele:admin')) {
      throw new RpcFault('unauthenticated', 'denials_unknown', 'the list of denied certificates is lost', {
        hint: 'an administrator denies the certificates again',
      })
    }
    return identity
  }

  #verify(der: Buffer): VerifiedClient {
    const authorities = this.#authorities()
    const set = authorities.join()
    const fingerprint = createHash('sha256').update(der).digest('hex')
    const now = this.#clock.now()
    const known = this.#known.get(fingerprint)
    const fresh = known !== undefined && known.authorities === set && isWithin(known, now.getTime())
    if (fresh) return known.client
    const verified = verifyClientCertificate(der, { authorities, now })
    if (!verified.ok) throw new RpcFault('unauthenticated', verified.error.code, verified.error.message)
    const notBefore = Date.parse(new X509Certificate(der).validFrom)
    this.#known.set(fingerprint, { client: verified.value, notBefore, authorities: set })
    return verified.value
  }
}

function isWithin(known: Known, now: number): boolean {
  return known.notBefore <= now && now < known.client.notAfter.getTime()
}

/** The peer's address as the daemon in front saw it; for records alone. */
export function addressOf(headers: Headers): string {
  const [address] = headers.get(ADDRESS_HEADER)
  return typeof address === 'string' && /^[0-9a-f.:]{2,45}$/i.test(address) ? address : 'unknown'
}
