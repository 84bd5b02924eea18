/**
 * The record of every call, allowed or denied: who, from where, what, outcome, how long. One JSON line each, on STATE.
 *
 * Invariants: a record holds no part of a request or an answer; a failing disk is logged and never stops a call; the size is bounded by two files.
 */
import { closeSync, fstatSync, lstatSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '#kit/clock'
import type { Log } from '#kit/log'

export type AuditWho = {
  readonly commonName: string
  readonly serial: string
  readonly roles: readonly string[]
}
export type AuditEntry = {
  /** Undefined when the call carried no identity that could be verified. */
  readonly who: AuditWho | undefined
  readonly from: string
  readonly what: string
  /** `ok`, `started` (a stream), or the stable code of the refusal. */
  readonly outcome: string
  readonly ms: number
  readonly requestId?: string
  readonly details?: Readonly<Record<string, string>>
}

const MAX_BYTES = 16 * 1024 * 1024

export class Audit {
  readonly #path: string
  readonly #log: Log
  readonly #clock: Clock
  readonly #maxBytes: number
  #descriptor: number
  #size: number

  constructor(options: {
    readonly directory: string
    readonly log: Log
    readonly clock: Clock
    readonly maxBytes?: number
  }) {
    mkdirSync(options.directory, { recursive: true, mode: 0o700 })
    this.#path = join(options.directory, 'audit.log')
    this.#log = options.log
    this.#clock = options.clock
    this.#maxBytes = options.maxBytes ?? MAX_BYTES
    clearPlace(this.#path)
    this.#descriptor = openSync(this.#path, 'a', 0o600)
    this.#size = fstatSync(this.#descriptor).size
  }

  record(entry: AuditEntry): void {
    try {
      if (this.#size >= this.#maxBytes) this.#turn()
      this.#size += writeSync(
        this.#descriptor,
        `${JSON.stringify({ at: this.#clock.now().toISOString(), ...entry })}\n`,
      )
    } catch (error) {
      this.#log.error('audit record lost', { what: entry.what, outcome: entry.outcome, error })
    }
  }

  close(): void {
    closeSync(this.#descriptor)
  }

  #turn(): void {
    renameSync(this.#path, this.#path.replace(/\.log$/, '.older.log'))
    const next = openSync(this.#path, 'a', 0o600)
    closeSync(this.#descriptor)
    this.#descriptor = next
    this.#size = 0
  }
}

/** Sets aside what is no file in the place of the log. */
function clearPlace(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile() !== false) return
  rmSync(`${path}.damaged`, { force: true, recursive: true })
  renameSync(path, `${path}.damaged`)
}
