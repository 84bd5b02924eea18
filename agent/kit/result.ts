/**
 * A value the caller must branch on. Pure parsers and verifiers return it; I/O and broken invariants throw instead.
 *
 * Invariant: `pki` declares the same shape for itself, so that the two are interchangeable without an import.
 */
export type Result<T, E> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: E }

export function ok<T>(value: T): Result<T, never> {
  return { ok: true, value }
}

export function err<E>(error: E): Result<never, E> {
  return { ok: false, error }
}

/** Returns the value, or throws the error: for places where a failure is a broken invariant. */
export function unwrap<T>(result: Result<T, Error>): T {
  if (result.ok) return result.value
  throw result.error
}
