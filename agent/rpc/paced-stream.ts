import type * as grpc from '@grpc/grpc-js'

/** How many bytes may wait for a client that does not read, over and above what the transport holds. */
const STREAM_BUFFER_BYTES = 256 * 1024

export type PacedOptions = {
  readonly call: grpc.ServerWritableStream<Buffer, Buffer>
  readonly signal: AbortSignal
  readonly serialize: (message: unknown) => Buffer
}

/**
 * Sends what `messages` yields, asking for the next only while little waits to be sent. Throws what the iterable throws, or the reason of the
 * signal; the iterable is ended (`return()`) in each case, and not waited for, since it may be stuck.
 */
export async function sendPaced(messages: AsyncIterable<unknown>, options: PacedOptions): Promise<void> {
  const { call, signal, serialize } = options
  const pace = new Pace(signal)
  const iterator = messages[Symbol.asyncIterator]()
  let ended = false
  try {
    for (;;) {
      await pace.room()
      const next = await pace.orAborted(iterator.next())
      if (next.done === true) break
      const bytes = serialize(next.value)
      pace.add(bytes.length)
      call.write(bytes, () => pace.remove(bytes.length))
    }
    ended = true
  } finally {
    pace.close()
    if (!ended) iterator.return?.().catch(() => undefined)
  }
}

/** Counts what waits, and wakes the one that waits for room; a wait ends with the signal. */
class Pace {
  readonly #signal: AbortSignal
  readonly #onAbort = () => this.#wake()
  #waiting = 0
  #wake = (): void => undefined

  constructor(signal: AbortSignal) {
    this.#signal = signal
    signal.addEventListener('abort', this.#onAbort)
  }

  add(bytes: number): void {
    this.#waiting += bytes
  }

  remove(bytes: number): void {
    this.#waiting -= bytes
    this.#wake()
  }

  async room(): Promise<void> {
    this.#signal.throwIfAborted()
    while (this.#waiting > STREAM_BUFFER_BYTES) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#signal.throwIfAborted()
    }
  }

  async orAborted<T>(promise: Promise<T>): Promise<T> {
    const woken = new Promise<void>((resolve) => {
      this.#wake = () => {
        if (this.#signal.aborted) resolve()
      }
    })
    if (this.#signal.aborted) this.#wake()
    const first = await Promise.race([promise.then((value) => ({ value })), woken])
    this.#signal.throwIfAborted()
    if (first === undefined) return promise
    return first.value
  }

  close(): void {
    this.#signal.removeEventListener('abort', this.#onAbort)
  }
}
