/** Durations as people write them on a command line, and as they read them. Pure. */
import ms, { type StringValue } from 'ms'
import { CliFault } from './fault.ts'

const FORM = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/

/** Milliseconds of `500ms`, `60s`, `5m`, `12h` or `30d`. Throws CliFault `usage`: a bare number has no unit and is refused. */
export function parseDuration(text: string): number {
  const match = FORM.exec(text.trim())
  const value = match === null ? Number.NaN : ms(match[0] as StringValue) // FORM is a subset of what ms accepts
  if (!Number.isFinite(value) || value <= 0) {
    throw new CliFault('usage', 'a duration is a number above 0 with its unit', {
      hint: 'write 500ms, 60s, 5m, 12h or 30d',
    })
  }
  return value
}

/** `0.4 s`, `1.8 s`, `12 s`, `3 min 20 s`: for results. */
export function formatElapsed(milliseconds: number): string {
  const seconds = milliseconds / 1000
  if (seconds < 10) return `${seconds.toFixed(1)} s`
  if (seconds < 100) return `${Math.round(seconds)} s`
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`
}

/** `now`, `in 23 h`, `5 min ago`: how far a moment is, in its largest whole unit. */
export function formatDistance(at: Date, now: Date): string {
  const distance = at.getTime() - now.getTime()
  const text = largestUnit(Math.abs(distance))
  if (text === undefined) return 'now'
  return distance > 0 ? `in ${text}` : `${text} ago`
}

const UNITS: readonly (readonly [number, string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
]

function largestUnit(milliseconds: number): string | undefined {
  for (const [size, name] of UNITS) {
    if (milliseconds >= size) return `${Math.floor(milliseconds / size)} ${name}`
  }
  return undefined
}
