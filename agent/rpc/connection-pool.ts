/**
 * A bounded set of connections with owners. When it is full the largest holder pays with its oldest; so nobody can keep another out by holding
 * connections, and an owner that reconnects pushes out its own stale ones.
 *
 * Invariants: never more than `total` items, never more than `perOwner` of one owner; the item just added is never the one that goes.
 */
export class ConnectionPool<T> {
  readonly #total: number
  readonly #perOwner: number
  /** Insertion order is age: the first of a set is its oldest. */
  readonly #held = new Map<string, Set<T>>()
  readonly #owners = new Map<T, string>()

  constructor(limits: { readonly total: number; readonly perOwner: number }) {
    this.#total = limits.total
    this.#perOwner = limits.perOwner
  }

  get size(): number {
    return this.#owners.size
  }

  /** Adds the item; returns the one that has to go for it, already taken out, if any. */
  add(item: T, owner: string): T | undefined {
    const own = this.#held.get(owner) ?? new Set<T>()
    const loser = this.#loser(own)
    if (loser !== undefined) this.delete(loser)
    own.add(item)
    this.#held.set(owner, own)
    this.#owners.set(item, owner)
    return loser
  }

  delete(item: T): void {
    const owner = this.#owners.get(item)
    if (owner === undefined) return
    this.#owners.delete(item)
    const own = this.#held.get(owner)
    own?.delete(item)
    if (own?.size === 0) this.#held.delete(owner)
  }

  items(): readonly T[] {
    return [...this.#owners.keys()]
  }

  #loser(own: ReadonlySet<T>): T | undefined {
    if (own.size >= this.#perOwner) return oldest(own)
    if (this.#owners.size < this.#total) return undefined
    let largest: ReadonlySet<T> = new Set<T>()
    for (const held of this.#held.values()) if (held.size > largest.size) largest = held
    return oldest(largest)
  }
}

function oldest<T>(items: ReadonlySet<T>): T | undefined {
  const [first] = items
  return first
}
