/**
 * The only place that prints. Results go to stdout, everything else (notes, progress, errors) to stderr.
 *
 * Invariants: colours and progress appear on a terminal only, and never with NO_COLOR; a stack is never printed; nothing of a node reaches a
 * terminal with control characters in it.
 */
import { styleText } from 'node:util'
import { toFailure, type ExitCode, type Failure } from './failure.ts'
import { plain, printable, printableLines, toJson } from './text.ts'

export type Format = 'table' | 'json' | 'yaml'
export const FORMATS: readonly Format[] = ['table', 'json', 'yaml']

export type Sink = {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string | Uint8Array): boolean
}

export type OutputOptions = { readonly stdout: Sink; readonly stderr: Sink; readonly colour: boolean }

/** A line that changes while something is awaited; nothing at all off a terminal. */
export type Progress = { readonly update: (text: string) => void; readonly end: () => void }

/** The node of a failure, and its address when that matters. */
export type Place = { readonly node: string; readonly address?: string }

type Colour = 'yellow' | 'red'

export class Output {
  #format: Format = 'table'
  #toYaml: (value: unknown) => string = toJson
  readonly #stdout: Sink
  readonly #stderr: Sink
  readonly #colour: boolean

  constructor(options: OutputOptions) {
    this.#stdout = options.stdout
    this.#stderr = options.stderr
    this.#colour = options.colour
  }

  get format(): Format {
    return this.#format
  }

  /** Called once the command line is read; loads what the format needs. */
  async use(format: Format): Promise<void> {
    if (format === 'yaml') {
      const { stringify } = await import('yaml')
      // YAML leaves such characters as they are; what a node said must not steer the terminal in any format.
      this.#toYaml = (value) => printableLines(stringify(value))
    }
    this.#format = format
  }

  /** True when a person watches stdout and wants text. */
  get isLive(): boolean {
    return this.format === 'table' && this.#stdout.isTTY === true
  }

  /** The result of a verb: `text` for people, `data` for programs. */
  result(data: unknown, text: () => string): void {
    if (this.format === 'json') this.#line(toJson(data, 2))
    else if (this.format === 'yaml') this.#stdout.write(this.#toYaml(plain(data)))
    else this.#line(text())
  }

  /** One element of a stream: a line of text, or one object a line. */
  item(data: unknown, text: () => string): void {
    if (this.format === 'json') this.#line(toJson(data))
    else if (this.format === 'yaml') this.#stdout.write(`---\n${this.#toYaml(plain(data))}`)
    else this.#line(text())
  }

  /** Text whose bytes matter, such as a document: unchanged, without a line feed of ours. */
  raw(text: string): void {
    this.#stdout.write(text)
  }

  /** A remark for people, off the result. */
  note(text: string): void {
    if (this.format === 'table') this.#stderr.write(`${printable(text)}\n`)
  }

  warning(text: string): void {
    this.#stderr.write(`${this.#paintError('yellow', 'warning:')} ${printable(text)}\n`)
  }

  /** A finding of a document, as in `file:3:5: message`. */
  finding(text: string): void {
    this.#stderr.write(`${printable(text)}\n`)
  }

  /** `error: CODE: message` and its hint; one JSON object with `-o json`. */
  failure(failure: Failure, place?: Place): void {
    if (this.format === 'json') {
      this.#stderr.write(`${toJson({ error: toErrorData(failure, place) })}\n`)
      return
    }
    const where = place === undefined ? '' : `${printable(describePlace(place))}: `
    const lines = failure.message.split('\n').map(printable)
    this.#stderr.write(
      `${this.#paintError('red', 'error:')} ${failure.status}: ${where}${lines.join('\n       ')}\n`,
    )
    if (failure.incident !== undefined) this.#stderr.write(`       incident ${printable(failure.incident)}\n`)
    if (failure.hint !== undefined) this.#stderr.write(`hint:  ${printable(failure.hint)}\n`)
  }

  /** Help and version of the command line itself. */
  help(text: string, stream: 'stdout' | 'stderr'): void {
    const sink = stream === 'stdout' ? this.#stdout : this.#stderr
    sink.write(text)
  }

  progress(): Progress {
    const live = this.format === 'table' && this.#stderr.isTTY === true
    if (!live) return { update: () => undefined, end: () => undefined }
    const width = (this.#stderr.columns ?? 80) - 1
    return {
      update: (text) => this.#stderr.write(`\r\u001b[2K${printable(text).slice(0, width)}`),
      end: () => this.#stderr.write('\r\u001b[2K'),
    }
  }

  /** A block that is drawn over itself on a terminal. Asked for only when `isLive`. */
  async screen(): Promise<{ draw(text: string): void; end(): void }> {
    const { createLogUpdate } = await import('log-update')
    const update = createLogUpdate(process.stdout)
    return { draw: (text) => update(printableLines(text)), end: () => update.done() }
  }

  #line(text: string): void {
    if (text === '') return
    const safe = this.#stdout.isTTY === true ? printableLines(text) : text
    this.#stdout.write(safe.endsWith('\n') ? safe : `${safe}\n`)
  }

  #paintError(colour: Colour, text: string): string {
    return this.#colour && this.#stderr.isTTY === true
      ? styleText(colour, text, { validateStream: false })
      : text
  }
}

/** Tells an error on stderr of this process, for the entry points that have no verb. */
export function printError(error: unknown): void {
  const { stdout, stderr, env } = process
  new Output({ stdout, stderr, colour: wantsColour(env) }).failure(toFailure(error))
}

export function exitCodeOf(error: unknown): ExitCode {
  return toFailure(error).exit
}

/** See no-color.org: any value but the empty one turns colours off. */
export function wantsColour(env: Readonly<Record<string, string | undefined>>): boolean {
  return (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb'
}

/** `prod-cp-1 (10.0.0.1:50000)`; the address alone when it is the name. Pure. */
export function describePlace({ node, address }: Place): string {
  return address === undefined || address === node ? node : `${node} (${address})`
}

/** The failure as programs read it, on stderr and inside the rows of a fan-out. */
export function toErrorData(failure: Failure, place?: Place): Record<string, string> {
  return {
    code: failure.code,
    status: failure.status,
    message: failure.message,
    ...(failure.hint === undefined ? {} : { hint: failure.hint }),
    ...(failure.incident === undefined ? {} : { incident: failure.incident }),
    ...place,
  }
}
