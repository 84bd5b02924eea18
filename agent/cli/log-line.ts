/** Lines of a node's logs as people and programs read them. Pure, but for `Seen`. */
import { printable } from './text.ts'

type Fields = Readonly<Record<string, unknown>>

/** The object of a line that is one in JSON, else undefined. */
export function parseEntry(line: string): Fields | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    const value: unknown = JSON.parse(line)
    return isFields(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** `time level message key=value …`, for the record of calls `time who roles from method outcome ms`, and any other line as it is. */
export function formatLine(line: string): string {
  const entry = parseEntry(line)
  if (entry === undefined) return line
  if ('what' in entry && 'outcome' in entry) return auditLine(entry)
  return typeof entry['time'] === 'string' && 'message' in entry ? logLine(entry) : line
}

/** ` key=value …`, empty for no fields; quotes where a value is more than one plain word. */
export function formatFields(fields: Fields): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${printable(name)}=${word(value)}`)
    .join('')
}

function logLine({ time, level, message, ...rest }: Fields): string {
  return `${[time, level, message]
    .filter((part) => part !== undefined)
    .map(text)
    .join('  ')} ${formatFields(rest)}`.trimEnd()
}

function auditLine({ at, who, from, what, outcome, ms, details, ...rest }: Fields): string {
  const caller = isFields(who) ? who : {}
  const roles = Array.isArray(caller['roles']) ? caller['roles'].map(text).join(',') : ''
  const cells = [
    at,
    caller['commonName'] ?? '-',
    roles === '' ? '-' : roles,
    from,
    what,
    outcome,
    `${text(ms)} ms`,
  ]
  return `${cells.map(text).join('  ')} ${formatFields({ ...(isFields(details) ? details : {}), ...rest })}`.trimEnd()
}

function word(value: unknown): string {
  const shown = isFields(value) && typeof value['stack'] === 'string' ? value['message'] : value
  const plain = text(shown)
  return /^[^\s"=]+$/.test(plain) && typeof shown !== 'object'
    ? plain
    : printable(JSON.stringify(shown) ?? plain)
}

function text(value: unknown): string {
  return printable(typeof value === 'string' ? value : (JSON.stringify(value) ?? '-'))
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Which lines of a followed log were shown, so that after an outage the log may be read again from its begin. Lines without a time are never known. */
export class Seen {
  #time = ''
  #lines = new Set<string>()

  get isEmpty(): boolean {
    return this.#time === ''
  }

  /** True when the line is new; it counts as shown from now on. */
  take(line: string): boolean {
    const entry = parseEntry(line)
    const time = entry?.['time'] ?? entry?.['at']
    if (typeof time !== 'string') return true
    if (time < this.#time || (time === this.#time && this.#lines.has(line))) return false
    if (time > this.#time) this.#lines = new Set()
    this.#time = time
    this.#lines.add(line)
    return true
  }
}
