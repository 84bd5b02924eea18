/**
 * A small JSON document on STATE that survives crashes and damage.
 *
 * Invariants: after `write` returns the value is durable; a crash during it leaves the old value or the new one; a damaged file is noticed by
 * its digest and the previous good one is used, which is then never overwritten by the damaged one.
 */
import { createHash } from 'node:crypto'
import { dirname } from 'node:path'
import { z } from 'zod'
import type { FileSystem } from './file-system.ts'

const envelopeSchema = z.strictObject({ version: z.literal(1), digest: z.string(), value: z.unknown() })

export type Stored<T> =
  | { readonly kind: 'absent' }
  | { readonly kind: 'current'; readonly value: T }
  /** The file itself is damaged; this is the one before it. */
  | { readonly kind: 'previous'; readonly value: T }
  /** Something is there and neither copy can be read. */
  | { readonly kind: 'damaged' }

export class JsonFile<T> {
  readonly #files: FileSystem
  readonly #path: string
  readonly #schema: z.ZodType<T>
  #currentIsGood = false
  #damaged: readonly string[] = []

  constructor(files: FileSystem, path: string, schema: z.ZodType<T>) {
    this.#files = files
    this.#path = path
    this.#schema = schema
    files.makeDirectory(dirname(path), 0o700)
  }

  /** Paths of the copies that the last `read` found damaged. */
  get damaged(): readonly string[] {
    return this.#damaged
  }

  read(): Stored<T> {
    const [path, older] = [this.#path, `${this.#path}.previous`]
    const current = this.#load(path)
    this.#currentIsGood = current.kind === 'good'
    this.#damaged = current.kind === 'damaged' ? [path] : []
    if (current.kind === 'good') return { kind: 'current', value: current.value }
    const previous = this.#load(older)
    if (previous.kind === 'damaged') this.#damaged = [...this.#damaged, older]
    if (previous.kind === 'good') {
      // No current file at all is a write that was interrupted between its two renames: the old value is the one in force.
      return { kind: current.kind === 'absent' ? 'current' : 'previous', value: previous.value }
    }
    return current.kind === 'absent' && previous.kind === 'absent' ? { kind: 'absent' } : { kind: 'damaged' }
  }

  write(value: T): void {
    const files = this.#files
    const temporary = `${this.#path}.new`
    files.remove(temporary)
    files.write(temporary, seal(value), 0o600)
    files.sync(temporary)
    // Between the two renames there is no current file: read() then finds the previous one, which is the old value.
    if (this.#currentIsGood) files.rename(this.#path, `${this.#path}.previous`)
    files.rename(temporary, this.#path)
    files.syncDirectory(this.#path)
    this.#currentIsGood = true
  }

  #load(path: string): { kind: 'good'; value: T } | { kind: 'absent' | 'damaged' } {
    const bytes = this.#files.read(path)
    if (bytes === undefined) return { kind: 'absent' }
    if (bytes === 'damaged') return { kind: 'damaged' }
    try {
      const envelope = envelopeSchema.parse(JSON.parse(bytes.toString('utf8')))
      if (digestOf(JSON.stringify(envelope.value)) !== envelope.digest) return { kind: 'damaged' }
      return { kind: 'good', value: this.#schema.parse(envelope.value) }
    } catch {
      return { kind: 'damaged' }
    }
  }
}

function seal(value: unknown): string {
  return `${JSON.stringify({ version: 1, digest: digestOf(JSON.stringify(value)), value })}\n`
}

function digestOf(text: string | undefined): string {
  return `sha256:${createHash('sha256')
    .update(text ?? '')
    .digest('hex')}`
}
