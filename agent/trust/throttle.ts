/**
 * How guessing at join credentials is slowed.
 *
 * An address that failed often enough is locked out, twice as long after each further failure. A username that failed often, from wherever, makes
 * every address that fails on it once count as one that failed often; an address that never failed is asked as ever. Calling faster than the rate is
 * no failure; of an address that has failed it counts as one more.
 *
 * Invariants: pure, `now` in milliseconds of a clock that never steps back; memory is bounded; what one address does never locks out another that has
 * not failed itself.
 */
import { LRUCache } from 'lru-cache'
import { fullBucket, takeToken, type Bucket, type BucketPolicy, type Taken } from '#rpc'

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
}

export const DEFAULT_POLICY: ThrottlePolicy = {
  perAddress: { ratePerSecond: 10, burst: 40 },
  failures: 5,
  usernameFailures: 20,
  firstLockMs: 1_000,
  maxLockMs: 300_000,
  forgetMs: 900_000,
}

type Failures = { readonly count: number; readonly at: number; readonly lockedUntil: number }

export type Refusal = { readonly reason: 'locked_out' | 'rate' | 'busy'; readonly retryAfterMs: number }

/** How long a call that found no place, or none in time, is asked to stay away. */
const BUSY_RETRY_MS = 1_000

export class JoinThrottle {
  readonly #policy: ThrottlePolicy
  readonly #addresses: LRUCache<string, Failures>
  readonly #usernames: LRUCache<string, Failures>
  readonly #buckets: LRUCache<string, Bucket>

  constructor(policy: ThrottlePolicy = DEFAULT_POLICY, remembered = 4096) {
    this.#policy = policy
    this.#addresses = new LRUCache({ max: remembered })
    this.#usernames = new LRUCache({ max: remembered })
    this.#buckets = new LRUCache({ max: remembered })
  }

  /** Lets a call of `address` (see `addressOwner`) pass, or says when to try again. */
  admit(address: string, now: number): Refusal | undefined {
    const locked = this.lockOf(address, now)
    if (locked !== undefined) return locked
    const taken = this.#take(address, now)
    if (taken.isAllowed) return undefined
    const lockMs = this.hasFailed(address, now) ? this.#count(address, this.#policy.failures, now) : 0
    return lockMs > 0
      ? { reason: 'locked_out', retryAfterMs: lockMs }
      : { reason: 'rate', retryAfterMs: taken.retryAfterMs }
  }

  /** The lock on `address`, if it is locked out: it may have become so since its call was admitted. */
  lockOf(address: string, now: number): Refusal | undefined {
    const { lockedUntil } = this.#failures(this.#addresses, address, now)
    if (lockedUntil <= now) return undefined
    return { reason: 'locked_out', retryAfterMs: Math.ceil(lockedUntil - now) }
  }

  hasFailed(address: string, now: number): boolean {
    return this.#failures(this.#addresses, address, now).count > 0
  }

  /** Records that a call found no place: it counts twice toward the rate of its address, so that one that floods runs out of it. */
  turnedAway(address: string, now: number): Refusal {
    this.#take(address, now)
    return { reason: 'busy', retryAfterMs: BUSY_RETRY_MS }
  }

  /** Records a refused credential; returns how long the address is locked out for it, 0 when it is not. */
  failed(address: string, username: string, now: number): number {
    const user = this.#failures(this.#usernames, username, now)
    const userCount = user.count + 1
    this.#usernames.set(username, { count: userCount, at: now, lockedUntil: 0 })
    const isSprayed = userCount > this.#policy.usernameFailures
    return this.#count(address, isSprayed ? 1 : this.#policy.failures, now)
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

  /** One failure more; returns for how long that locks out, given that the `first`-th one is the first to do so. */
  #count(address: string, first: number, now: number): number {
    const count = this.#failures(this.#addresses, address, now).count + 1
    const excess = count - first
    const { maxLockMs, firstLockMs } = this.#policy
    const lockMs = excess < 0 ? 0 : Math.min(maxLockMs, firstLockMs * 2 ** Math.min(excess, 30))
    this.#addresses.set(address, { count, at: now, lockedUntil: lockMs === 0 ? 0 : now + lockMs })
    return lockMs
  }

  #take(address: string, now: number): Taken {
    const policy = this.#policy.perAddress
    const taken = takeToken(this.#buckets.get(address) ?? fullBucket(policy, now), policy, now)
    this.#buckets.set(address, taken.bucket)
    return taken
  }
}
