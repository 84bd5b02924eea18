import type { Clock } from '#kit/clock'
import type { Log } from '#kit/log'
import { fullBucket, takeToken, type Bucket, type BucketPolicy } from './token-bucket.ts'

/** Warnings that strangers can cause: at most so many a second, and each says how many were left out before it. */
export class LimitedLog {
  readonly #log: Log
  readonly #clock: Clock
  readonly #policy: BucketPolicy
  #bucket: Bucket
  #leftOut = 0

  constructor(log: Log, clock: Clock, policy: BucketPolicy) {
    this.#log = log
    this.#clock = clock
    this.#policy = policy
    this.#bucket = fullBucket(policy, clock.monotonic())
  }

  warn(sentence: string, fields: Readonly<Record<string, unknown>>): void {
    const taken = takeToken(this.#bucket, this.#policy, this.#clock.monotonic())
    this.#bucket = taken.bucket
    if (!taken.isAllowed) {
      this.#leftOut += 1
      return
    }
    this.#log.warn(sentence, this.#leftOut === 0 ? fields : { ...fields, leftOut: this.#leftOut })
    this.#leftOut = 0
  }
}
