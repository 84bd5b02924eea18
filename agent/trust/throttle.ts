/**
 * How guessing at join credentials is slowed.
 *
 * An address that failed often enough is locked out, twice as long after each further failure. A username that failed often, from wherever, makes
 * every address that fails on it once count as one that failed often; an address that never failed is asked as ever.
 *
 * Invariants: pure, `now` in milliseconds of a clock that never steps back; memory is bounded; what one address does never locks out another that has
 * not failed itself.
 */
import { LRUCache } from 'lru-cache'
import { fullBucket, takeToken, type Bucket, type BucketPolicy } from '#rpc'

export type ThrottlePolicy = {
  /** Calls of one address, right or wrong. */
  readonly perAddress: BucketPolicy
  /** Failures of one address before it is locked out. */
  readonly failures: number
  /** Failures of one username before addresses that fail on it are locked out at once. */
  readonly usernameFailures: number
  readonly firstLockMs: number
  readonly maxLockMs: number
  /** Without a failure for this long everything is forgiven. */
  readonly forgetMs: number
  /** Calls at a time: of one address, and of all; each costs the memory of one password check. */
  readonly concurrentPerAddress: number
  readonly concurrent: number
}

export const DEFAULT_POLICY: ThrottlePolicy = {
  perAddress: { ratePerSecond: 10, burst: 40 },
  failures: 5,
  usernameFailures: 20,
  firstLockMs: 1_000,
  maxLockMs: 300_000,
  forgetMs: 900_000,
  concurrentPerAddress: 4,
  concurrent: 16,
}

type Failures = { readonly count: number; readonly at: number; readonly lockedUntil: number }

export type Admission =
  | { readonly kind: 'admitted'; release(): void }
  | {
      readonly kind: 'refused'
      readonly reason: 'locked_out' | 'rate' | 'busy'
      readonly retryAfterMs: number
    }

export class JoinThrottle {
  readonly #policy: ThrottlePolicy
  readonly #addresses: LRUCache<string, Failures>
  readonly #usernames: LRUCache<string, Failures>
  readonly #buckets: LRUCache<string, Bucket>
  readonly #open = new Map<string, number>()
  #total = 0

  constructor(policy: ThrottlePolicy = DEFAULT_POLICY, remembered = 4096) {
    this.#policy = policy
    this.#addresses = new LRUCache({ max: remembered })
    this.#usernames = new LRUCache({ max: remembered })
    this.#buckets = new LRUCache({ max: remembered })
  }

  /** Lets a call of `address` (see `addressOwner`) pass, or says when to try again. */
  admit(address: string, now: number): Admission {
    const { lockedUntil } = this.#failures(this.#addresses, address, now)
    if (lockedUntil > now)
      return { kind: 'refused', reason: 'locked_out', retryAfterMs: Math.ceil(lockedUntil - now) }
    const policy = this.#policy.perAddress
    const taken = takeToken(this.#buckets.get(address) ?? fullBucket(policy, now), policy, now)
    this.#buckets.set(address, taken.bucket)
    if (!taken.isAllowed) return { kind: 'refused', reason: 'rate', retryAfterMs: taken.retryAfterMs }
    const open = this.#open.get(address) ?? 0
    if (open >= this.#policy.concurrentPerAddress || this.#total >= this.#policy.concurrent)
      return { kind: 'refused', reason: 'busy', retryAfterMs: 500 }
    this.#open.set(address, open + 1)
    this.#total += 1
    let isOpen = true
    return {
      kind: 'admitted',
      release: () => {
        if (isOpen) this.#release(address)
        isOpen = false
      },
    }
  }

  /** Records a refused credential; returns how long the address is locked out for it, 0 when it is not. */
  failed(address: string, username: string, now: number): number {
    const user = this.#failures(this.#usernames, username, now)
    const userCount = user.count + 1
    this.#usernames.set(username, { count: userCount, at: now, lockedUntil: 0 })
    const isSprayed = userCount > this.#policy.usernameFailures
    const count = this.#failures(this.#addresses, address, now).count + 1
    const excess = isSprayed ? count - 1 : count - this.#policy.failures
    const lockMs =
      excess < 0 ? 0 : Math.min(this.#policy.maxLockMs, this.#policy.firstLockMs * 2 ** Math.min(excess, 30))
    this.#addresses.set(address, { count, at: now, lockedUntil: lockMs === 0 ? 0 : now + lockMs })
    return lockMs
  }

  /** A right credential came from this address: its failures are forgiven. Those of the username stay: somebody else may be guessing at it. */
  succeeded(address: string): void {
    this.#addresses.delete(address)
  }

  #failures(of: LRUCache<string, Failures>, key: string, now: number): Failures {
    const known = of.get(key)
    if (known !== undefined && now - known.at < this.#policy.forgetMs) return known
    return { count: 0, at: now, lockedUntil: 0 }
  }

  #release(address: string): void {
    this.#total -= 1
    const open = (this.#open.get(address) ?? 1) - 1
    if (open === 0) this.#open.delete(address)
    else this.#open.set(address, open)
  }
}
