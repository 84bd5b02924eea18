/** Rates as plain data: time is an argument, in milliseconds of a clock that never steps back. */
export type BucketPolicy = {
  /** Tokens that come back each second. */
  readonly ratePerSecond: number
  /** The most tokens that can be saved up. */
  readonly burst: number
}

export type Bucket = { readonly tokens: number; readonly at: number }

/** Returns a full bucket. */
export function fullBucket(policy: BucketPolicy, now: number): Bucket {
  return { tokens: policy.burst, at: now }
}

export type Taken = {
  readonly bucket: Bucket
  readonly isAllowed: boolean
  /** Until the next token; 0 when this one was given. */
  readonly retryAfterMs: number
}

/** Takes one token if there is one. A clock that stands still or steps back gives none back, and takes none away. */
export function takeToken(bucket: Bucket, policy: BucketPolicy, now: number): Taken {
  const elapsed = Math.max(0, now - bucket.at)
  const tokens = Math.min(policy.burst, bucket.tokens + (elapsed * policy.ratePerSecond) / 1000)
  const at = Math.max(bucket.at, now)
  if (tokens >= 1) return { bucket: { tokens: tokens - 1, at }, isAllowed: true, retryAfterMs: 0 }
  const missing = ((1 - tokens) / policy.ratePerSecond) * 1000
  return { bucket: { tokens, at }, isAllowed: false, retryAfterMs: Math.ceil(missing) }
}
