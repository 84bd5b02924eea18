/** When a certificate is renewed: at half its life, spread so that nodes that started together do not ask together. Pure. */

const HALF = 0.5
const SPREAD = 0.1

/** Returns the time between 50 % and 60 % of the life; `jitter` is 0 to 1 and chosen by the caller, once for each certificate. */
export function renewalTime(input: {
  readonly notBefore: Date
  readonly notAfter: Date
  readonly jitter: number
}): Date {
  const life = input.notAfter.getTime() - input.notBefore.getTime()
  const jitter = Number.isFinite(input.jitter) ? Math.min(1, Math.max(0, input.jitter)) : 0
  return new Date(input.notBefore.getTime() + life * (HALF + SPREAD * jitter))
}
