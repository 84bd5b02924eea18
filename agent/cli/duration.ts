/** Durations as people write them on a command line, and as they read them. Pure. */
import ms, { type StringValue } from 'ms'
import { CliFault } from './fault.ts'

const FORM = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/

/** Milliseconds of `500ms`, `60s`, `5m`, `12h` or `30d`. Throws CliFault `usage`: a bare number has no unit and is refused. */
export function parseDuration(text: string): number {
  const match = FORM.exec(text.trim())
  const value = match === null ? Number.NaN : ms(match[0] as StringValue) // FORM is a subset of what ms accepts
  if (!Number.isFinite(value) || value <= 0) {
    throw new CliFault('usage', `${JSON.stringify(text)} is no duration: a number above 0 with its unit`, {
      hint: 'write 500ms, 60s, 5m, 12h or 30d',
    })
  }
  return value
}

/** The same from `min` to `max`, both written as durations. Throws CliFault `usage`. */
export function durationBetween(min: string, max: string): (text: string) => number {
  const [least, most] = [parseDuration(min), parseDuration(max)]
  return (text) => {
    const value = parseDuration(text)
    if (value >= least && value <= most) return value
    throw new CliFault('usage', `a duration from ${min} to ${max} is expected`, {
      hint: value < least ? `the shortest is ${min}` : `the longest is ${max}`,
    })
  }
}

/** `0.4 s`, `1.8 s`, `12 s`, `3 min 20 s`: for results. */
export function formatElapsed(milliseconds: number): string {
  const seconds = milliseconds / 1000
  if (seconds < 10) return `${seconds.toFixed(1)} s`
  if (seconds < 100) return `${Math.round(seconds)} s`
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`
}

/** `now`, `in 23 h`, `5 min ago`: how far a moment is, rounded in the largest unit that fits. */
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
  for (const [index, [size, name]] of UNITS.entries()) {
    // What rounds up to a whole one in the next unit is one: 23 h 59 min 59 s is a day.
    const [fine] = UNITS[index + 1] ?? [size]
    const isWhole = fine === size ? milliseconds >= size : Math.round(milliseconds / fine) * fine >= size
    if (isWhole) return `${Math.round(milliseconds / size)} ${name}`
  }
  return undefined
}
