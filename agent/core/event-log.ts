/**
 * What happened on this node, numbered for ever.
 *
 * Invariants: a sequence number is durable before anyone sees it and is never used twice, over crashes and reboots; memory is bounded by
 * `KEPT` events however many watchers there are; a watcher holds no event that it has not asked for.
 */
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { Change } from './change.ts'
import type { Clock } from '#kit/clock'
import type { FileSystem } from './store/file-system.ts'

const recordSchema = z.strictObject({
  sequence: z.int().positive(),
  at: z.iso.datetime(),
  bootId: z.string(),
  code: z.string(),
  message: z.string(),
  operationId: z.string(),
  details: z.record(z.string(), z.string()),
})
export type EventRecord = z.infer<typeof recordSchema>
export type EventDraft = {
  readonly code: string
  readonly message: string
  readonly operationId?: string
  readonly details?: Readonly<Record<string, string>>
}

const KEPT = 1_000
/** Events in one file; two files are kept, so that the last KEPT events always survive. */
const PER_FILE = KEPT

export class EventLog {
  readonly #files: FileSystem
  readonly #path: string
  readonly #clock: Clock
  readonly #bootId: () => string
  readonly #change = new Change()
  #events: EventRecord[] = []
  #inFile = 0
  #last = 0
  #damaged: readonly string[] = []

  constructor(options: {
    readonly files: FileSystem
    readonly directory: string
    readonly clock: Clock
    readonly bootId: () => string
  }) {
    this.#files = options.files
    this.#path = join(options.directory, 'events.jsonl')
    this.#clock = options.clock
    this.#bootId = options.bootId
    this.#files.makeDirectory(dirname(this.#path), 0o700)
    this.#restore()
  }

  get lastSequence(): number {
    return this.#last
  }

  /** The smallest sequence number that is kept; one more than the last when nothing is. */
  get firstKept(): number {
    return this.#events[0]?.sequence ?? this.#last + 1
  }

  /** The last events, oldest first. */
  get kept(): readonly EventRecord[] {
    return this.#events
  }

  /** Paths of what stood in place of the files at the start; it was set aside. */
  get damaged(): readonly string[] {
    return this.#damaged
  }

  emit(draft: EventDraft): void {
    const event: EventRecord = {
      sequence: this.#last + 1,
      at: this.#clock.now().toISOString(),
      bootId: this.#bootId(),
      code: draft.code,
      message: draft.message,
      operationId: draft.operationId ?? '',
      details: { ...draft.details },
    }
    if (this.#inFile >= PER_FILE) this.#turn()
    this.#files.append(this.#path, `${JSON.stringify(event)}\n`, 0o600)
    this.#inFile += 1
    this.#last = event.sequence
    this.#events.push(event)
    if (this.#events.length > KEPT) this.#events.shift()
    this.#change.notify()
  }

  /** Yields the kept events after `after`; with `follow` it goes on with new ones until the signal aborts. */
  async *watch(
    after: number,
    options: { readonly follow: boolean; readonly signal: AbortSignal },
  ): AsyncGenerator<EventRecord> {
    let next = after + 1
    for (;;) {
      const seen = this.#change.version
      for (let event = this.#find(next); event !== undefined; event = this.#find(next)) {
        options.signal.throwIfAborted()
        next = event.sequence + 1
        yield event
      }
      if (!options.follow) return
      await this.#change.beyond(seen, options.signal)
    }
  }

  #find(sequence: number): EventRecord | undefined {
    return this.#events[Math.max(0, sequence - this.firstKept)]
  }

  #turn(): void {
    this.#files.rename(this.#path, `${this.#path}.older`)
    this.#files.syncDirectory(this.#path)
    this.#inFile = 0
  }

  #restore(): void {
    const older = this.#parse(this.#read(`${this.#path}.older`))
    const bytes = this.#read(this.#path)
    const current = this.#parse(bytes)
    // A torn last line gets its line feed, so that the next event begins a line of its own.
    if (bytes !== undefined && bytes.length > 0 && bytes.at(-1) !== 10)
      this.#files.append(this.#path, '\n', 0o600)
    this.#inFile = current.length
    for (const event of [...older, ...current]) {
      if (event.sequence <= this.#last) continue
      // A gap can only come from a damaged line; what is before it cannot be told apart from missed, so the ring begins after it.
      if (this.#events.length > 0 && event.sequence !== this.#last + 1) this.#events = []
      this.#last = event.sequence
      this.#events.push(event)
    }
    this.#events = this.#events.slice(-KEPT)
  }

  #read(path: string): Buffer | undefined {
    const bytes = this.#files.read(path)
    if (bytes !== 'damaged') return bytes
    this.#damaged = [...this.#damaged, path]
    this.#files.remove(`${path}.damaged`)
    this.#files.rename(path, `${path}.damaged`)
    return undefined
  }

  #parse(bytes: Buffer | undefined): EventRecord[] {
    return (bytes?.toString('utf8') ?? '').split('\n').flatMap((line) => {
      const event = parseLine(line)
      return event === undefined ? [] : [event]
    })
  }
}

function parseLine(line: string): EventRecord | undefined {
  if (line === '') return undefined
  try {
    return recordSchema.parse(JSON.parse(line))
  } catch {
    return undefined
  }
}
