/** Longest line that is passed on whole, in bytes, its line feed not counted. */
export const MAX_LINE_BYTES = 16 * 1024
const CUT_MARK = Buffer.from(' … [line cut]\n')
const LINE_FEED = 10

/** Makes whole lines of arbitrary pieces of a stream. Holds at most one partial line of bounded length. Pure. */
export class LineCutter {
  #skip: number
  #partial: Buffer[] = []
  #partialBytes = 0
  /** Bytes that were taken in so far. */
  taken = 0

  constructor(options: { readonly skipLines: number }) {
    this.#skip = options.skipLines
  }

  /** Returns the whole lines that `bytes` completes, as a copy, or undefined when it completes none. */
  take(bytes: Buffer): Buffer | undefined {
    this.taken += bytes.length
    const out: Buffer[] = []
    let from = 0
    for (let end = bytes.indexOf(LINE_FEED); end >= 0; end = bytes.indexOf(LINE_FEED, from)) {
      this.#hold(bytes.subarray(from, end))
      this.#finish(out)
      from = end + 1
    }
    this.#hold(bytes.subarray(from))
    return out.length === 0 ? undefined : Buffer.concat(out)
  }

  /** Returns what is left without a line feed, as a line. */
  end(): Buffer | undefined {
    if (this.#partialBytes === 0) return undefined
    const out: Buffer[] = []
    this.#finish(out)
    return out.length === 0 ? undefined : Buffer.concat(out)
  }

  #hold(bytes: Buffer): void {
    const room = MAX_LINE_BYTES - this.#partialBytes
    if (room > 0 && bytes.length > 0) this.#partial.push(Buffer.from(bytes.subarray(0, room)))
    this.#partialBytes += bytes.length
  }

  #finish(out: Buffer[]): void {
    const cut = this.#partialBytes > MAX_LINE_BYTES
    if (this.#skip > 0) this.#skip -= 1
    else out.push(...this.#partial, cut ? CUT_MARK : Buffer.from('\n'))
    this.#partial = []
    this.#partialBytes = 0
  }
}
