/** Text for people: tables without borders, safe characters, YAML and JSON of answers. Pure. */
import Table from 'cli-table3'

const NO_BORDERS = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '',
}

/** Columns two spaces apart, one row a line, without spaces at the end. An empty cell shows as `-`. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const grid = new Table({
    chars: NO_BORDERS,
    style: { 'padding-left': 0, 'padding-right': 2, head: [], border: [], compact: true },
  })
  if (head.length > 0) grid.push([...head])
  for (const row of rows) grid.push(row.map((cell) => (cell === '' ? '-' : printable(cell))))
  return trimEnds(grid.toString())
}

/** `name  value` lines for one thing with many fields. */
export function fields(pairs: readonly (readonly [string, string])[]): string {
  return table([], pairs)
}

// Control characters except tab, with the C1 range; marks that turn a line around, break it or take no room.
const UNSAFE = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g

/** What a node said, with every character escaped that could steer a terminal. */
export function printable(text: string): string {
  return text.replace(UNSAFE, (character) => (character === '\n' ? ' ' : escaped(character.charCodeAt(0))))
}

function escaped(code: number): string {
  return code > 0xff ? `\\u${code.toString(16).padStart(4, '0')}` : `\\x${code.toString(16).padStart(2, '0')}`
}

/** The same for text of several lines, which stay lines. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n')
}

/** JSON of an answer: dates as RFC 3339, 64-bit numbers as numbers where they fit and as text where they do not. */
export function toJson(value: unknown, indent?: number): string {
  return JSON.stringify(plain(value), undefined, indent)
}

/** The answer as data that JSON and YAML can both carry. */
export function plain(value: unknown): unknown {
  if (typeof value === 'bigint') {
    return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value.toString()
  }
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return value.map(plain)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .map(([name, member]) => [name, plain(member)]),
  )
}

function trimEnds(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
}
