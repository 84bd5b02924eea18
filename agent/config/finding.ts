/**
 * What is wrong in a document, with its place.
 *
 * Invariant: a message holds paths, expected forms and names, and never a value of the document; names are cut and escaped.
 */
export type Severity = 'error' | 'warning'

export type Finding = {
  readonly severity: Severity
  /** Stable, snake_case; the table is in README.md. */
  readonly code: string
  readonly file: string
  /** 1-based, like `line` and `column`. */
  readonly document: number
  readonly line: number
  readonly column: number
  /** Path in its document, such as `trust.endpoints[0]`; empty for the document itself. */
  readonly path: string
  readonly message: string
  readonly hint?: string
}

export type Problem = { readonly code: string; readonly message: string; readonly hint?: string }

export type Path = readonly (string | number)[]

const NAME_SHOWN = 64
const PATH_SHOWN = 200

/** Most problems that are told at once. A document with more is no configuration, and the list of them must not fill memory. */
export const MAX_FINDINGS = 100

/** Whether one more finding is worth making. One beyond the limit is: it shows that there are more. */
export function hasRoom(findings: readonly unknown[]): boolean {
  return findings.length <= MAX_FINDINGS
}

/** `file:line:column: message (path) [code]`, one line. */
export function formatFinding(finding: Finding): string {
  const where = `${finding.file}:${finding.line}:${finding.column}`
  const path = finding.path === '' ? '' : ` (${finding.path})`
  return `${where}: ${finding.message}${path} [${finding.code}]`
}

/** A copy in the order of the file: the first 100, and `too_many_findings` where the next one would be. */
export function sortFindings(findings: readonly Finding[]): readonly Finding[] {
  const sorted = findings.toSorted(
    (a, b) => a.line - b.line || a.column - b.column || a.path.localeCompare(b.path),
  )
  const next = sorted[MAX_FINDINGS]
  if (next === undefined) return sorted
  const { file, document, line, column } = next
  const code = 'too_many_findings'
  const message = 'and more problems: fix these first'
  const more: Finding = { severity: 'error', code, file, document, line, column, path: '', message }
  return [...sorted.slice(0, MAX_FINDINGS), more]
}

/** A path as a finding shows it: at most 200 characters, of a longer one both ends. */
export function showPath(path: Path): string {
  const text = formatPath(path)
  if (text.length <= PATH_SHOWN) return text
  const end = PATH_SHOWN / 2
  return `${text.slice(0, PATH_SHOWN - end - 1)}…${text.slice(-end)}`
}

/** `a.b[0]`; a name that is no plain word is shown cut, escaped and in quotes. */
export function formatPath(path: Path): string {
  let text = ''
  for (const segment of path) {
    if (typeof segment === 'number') text += `[${segment}]`
    else if (/^[A-Za-z_][\w-]{0,63}$/.test(segment)) text += text === '' ? segment : `.${segment}`
    else text += `[${showName(segment)}]`
  }
  return text
}

/** The name of a key as it may be shown: at most 64 characters, in quotes, everything but printable ASCII escaped. */
export function showName(name: string): string {
  const cut = name.length > NAME_SHOWN ? `${name.slice(0, NAME_SHOWN)}…` : name
  const escaped = cut.replace(/[^\x20-\x7e…]|["\\]/g, (character) =>
    character === '"' || character === '\\'
      ? `\\${character}`
      : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return `"${escaped}"`
}

/** The known name that `name` most likely means: same letters in another case, or at most a third of it mistyped. */
export function closestName(name: string, known: readonly string[]): string | undefined {
  if (name.length > NAME_SHOWN) return undefined
  const lower = name.toLowerCase()
  const ranked = known
    .map((candidate) => ({ candidate, distance: editDistance(lower, candidate.toLowerCase()) }))
    .filter(({ candidate, distance }) => distance <= Math.max(1, Math.floor(candidate.length / 3)))
    .sort((a, b) => a.distance - b.distance)
  return ranked[0]?.candidate
}

/** Levenshtein distance. */
function editDistance(a: string, b: string): number {
  let last = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (const [i, letter] of [...a].entries()) {
    const row = [i + 1]
    for (const [j, other] of [...b].entries()) {
      const replaced = (last[j] ?? 0) + (letter === other ? 0 : 1)
      row.push(Math.min(replaced, (last[j + 1] ?? 0) + 1, (row[j] ?? 0) + 1))
    }
    last = row
  }
  return last.at(-1) ?? 0
}
