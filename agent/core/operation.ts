/**
 * Idempotency keys: what was answered to a mutating call, kept on STATE, so that a repeated key gives the first answer even after a crash or
 * a reboot.
 *
 * Invariants: the answer is durable before it is sent; a key belongs to one caller and one method; an operation that was accepted and not yet
 * carried out is found again at the next start. Bounded: the oldest are forgotten first.
 */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { Clock } from '#kit/clock'
import { RpcFault } from '#rpc'
import type { JsonFile } from './store/json-file.ts'

const KEPT = 256

const operationSchema = z.strictObject({
  id: z.string(),
  key: z.string(),
  caller: z.string(),
  method: z.string(),
  /** Digest of the request without its key: the same key for something else is a mistake of the caller. */
  request: z.string(),
  at: z.iso.datetime(),
  bootId: z.string(),
  /** `accepted`: answered and to be carried out; `done`: nothing is left to do. */
  state: z.enum(['accepted', 'done']),
  /** Whether a power transition kills instead of stopping in order. */
  forced: z.boolean(),
  /** The encoded response message, in base64. */
  answer: z.base64(),
})
export type Operation = z.infer<typeof operationSchema>
export const operationsSchema = z.array(operationSchema)

export type OperationCall = {
  readonly key: string
  readonly caller: string
  readonly method: string
  readonly request: string
}

export class Operations {
  readonly #file: JsonFile<Operation[]>
  readonly #clock: Clock
  readonly #bootId: () => string
  #operations: readonly Operation[]

  constructor(options: {
    readonly file: JsonFile<Operation[]>
    readonly clock: Clock
    readonly bootId: () => string
  }) {
    this.#file = options.file
    this.#clock = options.clock
    this.#bootId = options.bootId
    const stored = options.file.read()
    this.#operations = 'value' in stored ? stored.value : []
  }

  /** Accepted in this boot or an earlier one, and never reported done. */
  get unfinished(): readonly Operation[] {
    return this.#operations.filter((operation) => operation.state === 'accepted')
  }

  /**
   * Returns the operation of an earlier call with this key, or undefined. An empty key never repeats anything. Throws INVALID_ARGUMENT for a
   * malformed key, and ALREADY_EXISTS when the key was used for another request.
   */
  find(call: OperationCall): Operation | undefined {
    if (call.key === '') return undefined
    if (!/^[\x21-\x7e]{8,64}$/.test(call.key)) {
      throw new RpcFault(
        'invalid_argument',
        'idempotency_key_invalid',
        'an idempotency key has 8 to 64 visible ASCII characters',
      )
    }
    const found = this.#operations.find(
      (one) => one.key === call.key && one.caller === call.caller && one.method === call.method,
    )
    if (found === undefined) return undefined
    if (found.request === call.request) return found
    throw new RpcFault(
      'already_exists',
      'idempotency_key_reused',
      'this idempotency key was used for another request',
      {
        hint: 'choose a new key for each operation',
      },
    )
  }

  /** A new identifier for an operation and its events. */
  newId(): string {
    return randomUUID()
  }

  /** Keeps the answer, durably. */
  keep(
    id: string,
    call: OperationCall,
    outcome: Pick<Operation, 'state' | 'answer'> & { readonly forced?: boolean },
  ): void {
    const operation: Operation = {
      id,
      ...call,
      at: this.#clock.now().toISOString(),
      bootId: this.#bootId(),
      forced: false,
      ...outcome,
    }
    this.#replace([...this.#operations, operation].slice(-KEPT))
  }

  /**
   * Forgets an operation that was never carried out and never answered. In memory it is forgotten even when that cannot be written: a repeated
   * key must not get the answer of what did not happen.
   */
  drop(id: string): void {
    const left = this.#operations.filter((one) => one.id !== id)
    try {
      this.#file.write([...left])
    } finally {
      this.#operations = left
    }
  }

  finish(id: string): void {
    this.#replace(this.#operations.map((one) => (one.id === id ? { ...one, state: 'done' as const } : one)))
  }

  #replace(operations: readonly Operation[]): void {
    this.#file.write([...operations])
    this.#operations = operations
  }
}
