/**
 * How much one caller may ask of the gateway: calls a second, and calls at a time.
 *
 * Invariants: pure but for its own counters, `now` is an argument; memory is bounded, and forgetting a caller never forgets calls it has open.
 */
import { LRUCache } from 'lru-cache'
import { fullBucket, takeToken, type Bucket, type BucketPolicy } from '#rpc'

export type CallLimits = BucketPolicy & {
  /** Calls at a time of one caller that wait for one answer. */
  readonly unary: number
  /** Streams at a time of one caller. */
  readonly streams: number
  /** Calls at a time of all callers together, of either kind. */
  readonly total: number
}

export type CallKind = 'unary' | 'stream'

export type Admission =
  | { readonly kind: 'admitted'; release(): void }
  | {
      readonly kind: 'refused'
      readonly reason: 'rate' | 'unary' | 'streams' | 'total'
      readonly retryAfterMs: number
    }

type Open = { unary: number; stream: number }

export class CallLimiter {
  readonly #limits: CallLimits
  /** A caller that was forgotten starts with a full bucket: no more than one burst for each of the many it takes to push it out. */
  readonly #buckets: LRUCache<string, Bucket>
  readonly #open = new Map<string, Open>()
  #total = 0

  constructor(limits: CallLimits, callers = 1024) {
    this.#limits = limits
    this.#buckets = new LRUCache({ max: callers })
  }

  /** Counts a call of `caller`, or refuses it. `now` in milliseconds of a clock that never steps back. The caller of this releases once. */
  admit(caller: string, kind: CallKind, now: number): Admission {
    const taken = takeToken(this.#buckets.get(caller) ?? fullBucket(this.#limits, now), this.#limits, now)
    this.#buckets.set(caller, taken.bucket)
    if (!taken.isAllowed) return { kind: 'refused', reason: 'rate', retryAfterMs: taken.retryAfterMs }
    const open = this.#open.get(caller) ?? { unary: 0, stream: 0 }
    if (this.#total >= this.#limits.total) return { kind: 'refused', reason: 'total', retryAfterMs: 1_000 }
    if (open[kind] >= (kind === 'unary' ? this.#limits.unary : this.#limits.streams))
      return { kind: 'refused', reason: kind === 'unary' ? 'unary' : 'streams', retryAfterMs: 1_000 }
    this.#open.set(caller, { ...open, [kind]: open[kind] + 1 })
    this.#total += 1
    let isOpen = true
    return {
      kind: 'admitted',
      release: () => {
        if (isOpen) this.#release(caller, kind)
        isOpen = false
      },
    }
  }

  /** Calls that are open now. */
  get open(): number {
    return this.#total
  }

  #release(caller: string, kind: CallKind): void {
    this.#total -= 1
    const open = this.#open.get(caller)
    if (open === undefined) return
    const left = { ...open, [kind]: open[kind] - 1 }
    if (left.unary + left.stream === 0) this.#open.delete(caller)
    else this.#open.set(caller, left)
  }
}
