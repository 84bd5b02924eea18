/**
 * Transcripts: what a person types and what the terminal answers.
 *
 * `needs: NAME` in the head asks for a setting of `needs.ts`. `$ ` begins a command, `> ` goes on with it (for here-documents). The lines below are
 * what is printed, stdout and stderr together; `…` stands for any text in a line, and alone in a line for any lines. `[exit N]` ends them when N is
 * not 0. Remarks begin with `# ` before the first command, and with `#: ` everywhere.
 */
export type Step = {
  readonly line: number
  readonly command: string
  readonly expected: readonly string[]
  readonly exit: number
}

export type Transcript = { readonly needs: readonly string[]; readonly steps: readonly Step[] }

type Draft = { line: number; command: string; expected: string[]; exit: number }

/** Throws an Error with the line number for what is no transcript. */
export function parseTranscript(text: string): Transcript {
  const needs: string[] = []
  const steps: Draft[] = []
  for (const [index, line] of text.replace(/\n$/, '').split('\n').entries()) {
    if (line.startsWith('#: ')) continue
    const step = steps.at(-1)
    if (line.startsWith('$ ')) steps.push({ line: index + 1, command: line.slice(2), expected: [], exit: 0 })
    else if (step === undefined) readHead(line, index + 1, needs)
    else readBody(line, step)
  }
  return { needs, steps: steps.map((step) => ({ ...step, expected: trimBlank(step.expected) })) }
}

function readHead(line: string, number: number, needs: string[]): void {
  const need = /^needs: (.+)$/.exec(line)
  if (need?.[1] !== undefined) needs.push(need[1])
  else if (line !== '' && !line.startsWith('# ')) throw new Error(`line ${number} is before the first command`)
}

function readBody(line: string, step: Draft): void {
  const exit = /^\[exit (\d{1,3})\]$/.exec(line)
  if (exit?.[1] !== undefined) step.exit = Number(exit[1])
  else if (line.startsWith('> ') && step.expected.length === 0) step.command += `\n${line.slice(2)}`
  else step.expected.push(line)
}

/** True when the printed lines are those of the transcript. */
export function matches(expected: readonly string[], printed: readonly string[]): boolean {
  const [wanted, ...rest] = expected
  if (wanted === undefined) return printed.length === 0
  if (wanted === '…') return printed.some((_, at) => matches(rest, printed.slice(at))) || matches(rest, [])
  const [line, ...left] = printed
  return line !== undefined && matchesLine(wanted, line) && matches(rest, left)
}

function matchesLine(wanted: string, line: string): boolean {
  const pattern = wanted.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${pattern.join('.*')}$`, 'u').test(line)
}

function trimBlank(lines: readonly string[]): readonly string[] {
  const last = lines.findLastIndex((line) => line !== '')
  return lines.slice(0, last + 1)
}
