/** A signal that aborts when the parent does or after `ms`, whichever comes first; `reason` says which. */
export function withDeadline(
  parent: AbortSignal,
  ms: number,
  reason: () => Error,
): AbortSignal & { dispose(): void } {
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(reason()), ms)
  const onAbort = () => controller.abort(parent.reason)
  if (parent.aborted) onAbort()
  else parent.addEventListener('abort', onAbort, { once: true })
  const dispose = () => {
    clearTimeout(timer)
    parent.removeEventListener('abort', onAbort)
  }
  controller.signal.addEventListener('abort', dispose, { once: true })
  return Object.assign(controller.signal, { dispose })
}

/** Resolves as the work does, or rejects with the signal's reason when it aborts first; the work goes on. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let abort: () => void = () => undefined
  const aborted = new Promise<never>((_resolve, reject) => {
    // The reason is whatever the caller gave: an Error everywhere in this project.
    abort = () => reject(signal.reason as Error)
  })
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** Things that were started, closed in reverse order; each gets the chance to close even when another fails. */
export class Lifetime implements AsyncDisposable {
  readonly #closers: (() => Promise<void> | void)[] = []

  onClose(closer: () => Promise<void> | void): void {
    this.#closers.push(closer)
  }

  use<T extends AsyncDisposable>(handle: T): T {
    this.#closers.push(async () => handle[Symbol.asyncDispose]())
    return handle
  }

  /** Hands the duty to close what was taken so far to a new lifetime, and keeps none of it. */
  hand(): Lifetime {
    const next = new Lifetime()
    next.#closers.push(...this.#closers.splice(0))
    return next
  }

  /** Closes everything once; a second call does nothing. Throws an AggregateError of what failed, after all were tried. */
  async [Symbol.asyncDispose](): Promise<void> {
    const failures: unknown[] = []
    for (const close of this.#closers.splice(0).reverse()) {
      try {
        await close()
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'closing failed')
  }
}
