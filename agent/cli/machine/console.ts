/** The console of a machine as lines, from its first byte on. Nothing is missed by asking late: a wait looks at what was printed before, too. */
import { createWriteStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'

export type WaitOptions = {
  readonly deadlineMs: number
  /** Lines before this position do not count; `position` of a moment in the past. */
  readonly from?: number
}

/** Lines kept in memory; the file has all. */
const KEPT = 20_000
// Terminal sequences that firmware and systemd print.
const CONTROL =
  /\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-9;?!=]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>78cDEHM]|[\x00-\x08\x0b-\x1f]/g

type Waiter = { readonly from: number; readonly pattern: RegExp; readonly found: (line: string) => void }

export class MachineConsole {
  readonly #lines: string[] = []
  readonly #waiters = new Set<Waiter>()
  #dropped = 0
  #rest = ''
  #ended: string | undefined
  readonly #onEnd = new Set<(why: string) => void>()

  /** Reads `stream` and copies it to `file` byte by byte. */
  constructor(stream: Readable, file: string) {
    const copy = createWriteStream(file, { flags: 'a' })
    // A character may be half in one chunk and half in the next.
    const decoder = new StringDecoder('utf8')
    stream.on('data', (chunk: Buffer) => {
      copy.write(chunk)
      this.#rest += decoder.write(chunk)
      const parts = this.#rest.split(/\r?\n/)
      this.#rest = parts.pop() ?? ''
      for (const part of parts) this.#add(part.replace(CONTROL, ''))
    })
    stream.on('close', () => {
      copy.end()
      this.#ended = 'the machine ended'
      for (const tell of this.#onEnd) tell(this.#ended)
    })
  }

  /** The number of lines so far. */
  get position(): number {
    return this.#dropped + this.#lines.length
  }

  /** The lines from a position on. */
  lines(from = 0): readonly string[] {
    return this.#lines.slice(Math.max(0, from - this.#dropped))
  }

  /** Returns the first line that matches. Throws with the last lines when the deadline passes or the machine ends before. */
  waitFor(pattern: RegExp, options: WaitOptions): Promise<string> {
    const from = options.from ?? 0
    const before = this.lines(from).find((line) => pattern.test(line))
    if (before !== undefined) return Promise.resolve(before)
    return new Promise((resolve, reject) => {
      const close = () => {
        clearTimeout(timer)
        this.#waiters.delete(waiter)
        this.#onEnd.delete(fail)
      }
      const fail = (why: string) => {
        close()
        const last = this.lines().slice(-15).join('\n  ')
        reject(new Error(`no console line matched ${String(pattern)}: ${why}; the last lines:\n  ${last}`))
      }
      const found = (line: string) => {
        close()
        resolve(line)
      }
      const waiter: Waiter = { from, pattern, found }
      const timer = setTimeout(() => fail(`${options.deadlineMs} ms passed`), options.deadlineMs)
      if (this.#ended !== undefined) return fail(this.#ended)
      this.#waiters.add(waiter)
      this.#onEnd.add(fail)
    })
  }

  #add(line: string): void {
    const at = this.position
    this.#lines.push(line)
    if (this.#lines.length > KEPT) {
      this.#lines.shift()
      this.#dropped++
    }
    for (const waiter of [...this.#waiters]) {
      if (at >= waiter.from && waiter.pattern.test(line)) waiter.found(line)
    }
  }
}
