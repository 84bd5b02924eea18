import { closeSync, existsSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The lines of one process on disk, bounded: `<name>.log`, and `<name>.older.log` once that was full. At a boot both become the previous
 * boot's. Writes are synchronous, so that the last line before a crash is kept.
 *
 * Invariant: a reader that holds the file open can read it to its end after it was moved away; nothing is ever truncated in place.
 */
export class LogFile {
  readonly #directory: string
  readonly #name: string
  readonly #maxBytes: number
  #descriptor: number
  #size: number
  #lost = 0

  constructor(directory: string, name: string, options: { readonly maxBytes?: number } = {}) {
    this.#directory = directory
    this.#name = name
    this.#maxBytes = options.maxBytes ?? 8 * 1024 * 1024
    this.#descriptor = openSync(this.#path(''), 'a', 0o600)
    this.#size = fstatSync(this.#descriptor).size
  }

  /** Never throws: a full disk costs lines and no service. The first line that fits again is preceded by how many writes were lost. */
  append(bytes: Buffer | string): void {
    try {
      if (this.#size >= this.#maxBytes) this.#turn('.older')
      if (this.#lost > 0)
        this.#write(`{"level":"warn","message":"log writes lost, the disk was full","count":${this.#lost}}\n`)
      this.#lost = 0
      this.#write(bytes)
    } catch {
      this.#lost += 1
    }
  }

  #write(bytes: Buffer | string): void {
    this.#size += writeSync(this.#descriptor, typeof bytes === 'string' ? Buffer.from(bytes) : bytes)
  }

  /** Makes what is there the log of the previous boot and begins an empty one. */
  startBoot(): void {
    if (this.#size > 0) this.#turn('.previous')
    const older = this.#path('.older')
    if (existsSync(older)) renameSync(older, this.#path('.previous.older'))
  }

  close(): void {
    closeSync(this.#descriptor)
  }

  #turn(suffix: string): void {
    renameSync(this.#path(''), this.#path(suffix))
    // Opened before the old one is closed: when it cannot be, lines go on into the file that was renamed.
    const next = openSync(this.#path(''), 'a', 0o600)
    closeSync(this.#descriptor)
    this.#descriptor = next
    this.#size = 0
  }

  #path(suffix: string): string {
    return join(this.#directory, `${this.#name}${suffix}.log`)
  }
}
