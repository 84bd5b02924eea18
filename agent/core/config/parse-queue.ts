/**
 * Who may have a document parsed next. Parsing occupies the whole process while it lasts, so documents come one at a time, everything else that
 * waits has its turn between two of them, and a caller beyond a short queue is refused.
 *
 * Invariant: work is never begun for a call that is over.
 */
import { RpcFault } from '#rpc'

/** Calls that may wait in one lane. */
const WAITING = 4

type Waiting = { readonly lane: string; readonly run: () => void }

export class ParseQueue<Lane extends string> {
  readonly #lanes: readonly Lane[]
  readonly #waiting: Waiting[] = []
  #isScheduled = false

  /** The lanes, the one that is served first in front. Each has a queue of its own, so that none can fill another's. */
  constructor(lanes: readonly Lane[]) {
    this.#lanes = lanes
  }

  /**
   * Runs `work` when its turn has come and settles as it does. Throws RpcFault `node_busy` (RESOURCE_EXHAUSTED) when four wait in the lane
   * already, and the reason of `signal` when that has fired before the turn came.
   */
  run<T>(lane: Lane, work: () => T, options: { readonly signal: AbortSignal }): Promise<T> {
    const { signal } = options
    return new Promise((resolve, reject) => {
      if (this.#waiting.filter((one) => one.lane === lane).length >= WAITING) throw busy()
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
        reject(reasonOf(signal))
      }
      const waiting = {
        lane,
        run: () => {
          signal.removeEventListener('abort', leave)
          resolve(settled(work))
        },
      }
      signal.throwIfAborted()
      signal.addEventListener('abort', leave, { once: true })
      this.#waiting.push(waiting)
      this.#schedule()
    })
  }

  /** One turn in each round of the event loop: between two of them, what has arrived meanwhile is answered. */
  #schedule(): void {
    if (this.#isScheduled || this.#waiting.length === 0) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#take()?.run()
      this.#schedule()
    })
  }

  #take(): Waiting | undefined {
    for (const lane of this.#lanes) {
      const index = this.#waiting.findIndex((one) => one.lane === lane)
      if (index !== -1) return this.#waiting.splice(index, 1)[0]
    }
    return undefined
  }
}

/** What work throws is passed on as it is. */
function settled<T>(work: () => T): Promise<T> {
  return new Promise((resolve) => {
    resolve(work())
  })
}

function busy(): RpcFault {
  return new RpcFault('resource_exhausted', 'node_busy', 'the node has too many configurations to read', {
    hint: 'try again in a moment',
  })
}

/** Every signal of a call has an error as its reason. */
function reasonOf(signal: AbortSignal): Error {
  return signal.reason as Error
}
