/**
 * Whose call core is asked next. Core checks few passwords at a time, and a call that would be one too many is refused there, whoever it is from; so
 * calls wait here, a line for each address, and the lines take turns.
 *
 * Invariants: an address that has not failed goes before every address that has, and has places that those never take; of one address few run and
 * few wait; memory is bounded by `places` and `waiting`, and a full queue lets go the newest call of whoever has failed, or waits most.
 */
export type TurnPolicy = {
  /** Calls at core at a time. */
  readonly places: number
  /** Of these, never taken by addresses that have failed. */
  readonly reserved: number
  /** Calls of one address: at core, and waiting. One that has failed has one of each. */
  readonly runningPerAddress: number
  readonly waitingPerAddress: number
  /** Waiting calls of all; each holds one request. */
  readonly waiting: number
}

/** `places` is what core checks at a time: MAX_PASSWORD_CHECKS of core/credential/signer.ts. */
export const DEFAULT_TURNS: TurnPolicy = {
  places: 4,
  reserved: 2,
  runningPerAddress: 2,
  waitingPerAddress: 4,
  waiting: 128,
}

/** One call. It waits, then has its turn or is left out, and a turn ends. */
export class Turn {
  readonly address: string
  /** Resolves true when it is this call's turn, and false when it is left out. */
  readonly granted: Promise<boolean>
  #kind: 'waiting' | 'running' | 'over' = 'waiting'
  #resolve: (isGranted: boolean) => void = () => undefined
  readonly #left: (turn: Turn) => void

  /** `left` is told once, when a turn that waits or runs is over by its own will. */
  constructor(address: string, left: (turn: Turn) => void) {
    this.address = address
    this.#left = left
    this.granted = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  get kind(): 'waiting' | 'running' | 'over' {
    return this.#kind
  }

  /** Only of the queue: decides a call that waits. */
  decide(isGranted: boolean): void {
    this.#kind = isGranted ? 'running' : 'over'
    this.#resolve(isGranted)
  }

  /** Waits no longer; a call that has its turn keeps it. */
  giveUp(): void {
    if (this.#kind !== 'waiting') return
    this.decide(false)
    this.#left(this)
  }

  /** Ends the turn, once core has answered. */
  end(): void {
    if (this.#kind !== 'running') return
    this.#kind = 'over'
    this.#left(this)
  }
}

export class TurnQueue {
  readonly #policy: TurnPolicy
  readonly #hasFailed: (address: string) => boolean
  /** In the order of whose turn it is; no line is empty. */
  readonly #lines = new Map<string, Turn[]>()
  readonly #running = new Set<Turn>()

  /** `hasFailed` is asked anew for every decision: a call may fail while others of its address wait. */
  constructor(policy: TurnPolicy, hasFailed: (address: string) => boolean) {
    this.#policy = policy
    this.#hasFailed = hasFailed
  }

  get waiting(): number {
    return [...this.#lines.values()].reduce((sum, line) => sum + line.length, 0)
  }

  get running(): number {
    return this.#running.size
  }

  /** Lets a call of `address` (see `addressOwner`) in. Its turn may have come, or it may be left out, by the time this returns. */
  enter(address: string): Turn {
    const turn = new Turn(address, (over) => this.#leave(over))
    this.#lines.set(address, [...(this.#lines.get(address) ?? []), turn])
    this.#fill()
    this.#shorten(address)
    if (this.waiting > this.#policy.waiting) this.#dropNewest(this.#longest())
    return turn
  }

  #leave(turn: Turn): void {
    this.#running.delete(turn)
    const line = this.#lines.get(turn.address)?.filter((one) => one !== turn)
    if (line !== undefined) this.#put(turn.address, line)
    this.#shorten(turn.address)
    this.#fill()
  }

  #fill(): void {
    for (let address = this.#next(); address !== undefined; address = this.#next()) {
      const [turn, ...rest] = this.#lines.get(address) ?? []
      // Behind all others.
      this.#lines.delete(address)
      this.#put(address, rest)
      if (turn === undefined) continue
      this.#running.add(turn)
      turn.decide(true)
    }
  }

  #next(): string | undefined {
    const { places, reserved, runningPerAddress } = this.#policy
    if (this.#running.size >= places) return undefined
    const ofFailed = [...this.#running].filter((turn) => this.#hasFailed(turn.address)).length
    let failed: string | undefined
    for (const address of this.#lines.keys()) {
      const running = [...this.#running].filter((turn) => turn.address === address).length
      const isFailed = this.#hasFailed(address)
      if (running >= (isFailed ? 1 : runningPerAddress)) continue
      if (!isFailed) return address
      failed ??= address
    }
    return ofFailed < places - reserved ? failed : undefined
  }

  /** Lets go what one address has waiting above its share. */
  #shorten(address: string): void {
    const share = this.#hasFailed(address) ? 1 : this.#policy.waitingPerAddress
    while ((this.#lines.get(address)?.length ?? 0) > share) this.#dropNewest(address)
  }

  /** The last of the addresses that have failed, or else the one with most calls waiting. */
  #longest(): string {
    let [found, most] = ['', 0]
    for (const [address, line] of this.#lines) {
      const weight = this.#hasFailed(address) ? Infinity : line.length
      if (weight >= most) [found, most] = [address, weight]
    }
    return found
  }

  #dropNewest(address: string): void {
    const line = this.#lines.get(address) ?? []
    line.at(-1)?.decide(false)
    this.#put(address, line.slice(0, -1))
  }

  #put(address: string, line: Turn[]): void {
    if (line.length === 0) this.#lines.delete(address)
    else this.#lines.set(address, line)
  }
}
