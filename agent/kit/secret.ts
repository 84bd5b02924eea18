import { inspect } from 'node:util'

const MASK = '[secret]'

/**
 * Holds a secret so that it cannot be printed by accident: text, JSON and inspection all show `[secret]`.
 * `reveal()` is the one way out, which makes every use of a secret greppable.
 */
export class Secret<T> {
  readonly #value: T

  constructor(value: T) {
    this.#value = value
  }

  reveal(): T {
    return this.#value
  }

  toString(): string {
    return MASK
  }

  toJSON(): string {
    return MASK
  }

  [inspect.custom](): string {
    return MASK
  }
}
