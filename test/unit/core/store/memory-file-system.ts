import type { FileSystem } from '../../../../agent/core/store/file-system.ts'

/** The end of the world: thrown instead of the step at which it ends. */
export class Crash extends Error {}

type Stored = { data: string; durable: boolean }

/**
 * A disk in memory on which the world can end after any step. `powerCut()` then shows what a disk may show after it: files that were never
 * synced hold half of their content.
 */
export class MemoryFileSystem implements FileSystem {
  readonly files = new Map<string, Stored>()
  steps = 0
  crashAt = Number.POSITIVE_INFINITY

  read(path: string): Buffer | undefined {
    const file = this.files.get(path)
    return file === undefined ? undefined : Buffer.from(file.data)
  }
  write(path: string, input: string | Buffer): void {
    const data = String(input)
    this.#step(() => this.files.set(path, { data: data.slice(0, data.length / 2), durable: false }))
    this.#step(() => this.files.set(path, { data, durable: false }))
  }
  append(path: string, data: string): void {
    const before = this.files.get(path)?.data ?? ''
    this.#step(() => this.files.set(path, { data: before + data.slice(0, data.length / 2), durable: true }))
    this.#step(() => this.files.set(path, { data: before + data, durable: true }))
  }
  sync(path: string): void {
    this.#step(() => {
      const file = this.files.get(path)
      if (file === undefined) throw new Error('sync of an absent file')
      file.durable = true
    })
  }
  syncDirectory(): void {
    this.#step(() => undefined)
  }
  rename(from: string, to: string): void {
    this.#step(() => {
      const file = this.files.get(from)
      if (file === undefined) throw new Error('rename of an absent file')
      this.files.delete(from)
      this.files.set(to, file)
    })
  }
  remove(path: string): void {
    this.#step(() => this.files.delete(path))
  }
  makeDirectory(): void {
    return
  }

  /** What another process finds after the end. */
  afterCrash(options: { readonly powerCut: boolean }): MemoryFileSystem {
    const next = new MemoryFileSystem()
    for (const [path, { data, durable }] of this.files) {
      const lost = options.powerCut && !durable
      next.files.set(path, { data: lost ? data.slice(0, data.length / 2) : data, durable: true })
    }
    return next
  }

  #step(act: () => void): void {
    if (this.steps >= this.crashAt) throw new Crash('the world ended')
    this.steps += 1
    act()
  }
}
