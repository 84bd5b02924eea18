/** Tells waiting tasks that something changed, without queues: a waiter names the version it has seen, so that no change is missed. */
export class Change {
  #version = 0
  readonly #waiters = new Set<() => void>()

  get version(): number {
    return this.#version
  }

  notify(): void {
    this.#version += 1
    for (const wake of [...this.#waiters]) wake()
  }

  /** Resolves as soon as the version is greater than `seen`; rejects with the signal's reason. */
  async beyond(seen: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#version > seen) return
    let wake: () => void = () => undefined
    const changed = new Promise<void>((resolve) => {
      wake = () => resolve()
    })
    this.#waiters.add(wake)
    signal.addEventListener('abort', wake, { once: true })
    try {
      await changed
    } finally {
      this.#waiters.delete(wake)
      signal.removeEventListener('abort', wake)
    }
    signal.throwIfAborted()
  }
}
