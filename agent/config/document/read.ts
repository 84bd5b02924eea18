/**
 * YAML text → plain data whose every place is known.
 *
 * YAML 1.2 core, strictly, less what makes documents ambiguous: no anchors, aliases, merge keys, tags or directives, no duplicate keys, no
 * number that would read back differently from how it is written. Messages never hold a value.
 */
import { Composer, isMap, isScalar, isSeq, LineCounter, type Node, type Pair, type Scalar } from 'yaml'
import { hasRoom, showName, showPath, type Finding, type Path, type Problem } from '../finding.ts'
import { scan, type PlacedProblem } from './tokens.ts'
import { syntaxProblem } from './syntax.ts'

export type Position = { readonly line: number; readonly column: number }

export type SourceDocument = {
  readonly file: string
  /** 1-based place in the file. */
  readonly index: number
  readonly data: unknown
  readonly position: Position
  /** A finding at the value of `path`, or at the nearest thing above it that is written down. */
  finding(path: Path, problem: Problem, at?: 'key' | 'value'): Finding
  /** How the value at `path` is written. */
  written(path: Path): 'plain' | 'quoted' | 'collection' | 'absent'
  /** True when reading already found something wrong at exactly this place. */
  isRefused(path: Path): boolean
}

export type SourceFile = {
  /** Documents that could be read; those with broken syntax and empty ones are left out. */
  readonly documents: readonly SourceDocument[]
  readonly findings: readonly Finding[]
}

type Place = { readonly file: string; readonly index: number; readonly lines: LineCounter }

/** Reads every document of `text`. The problems of syntax and form are in `findings`: all of them, or the first 101. */
export function readDocuments(text: string, options: { readonly file: string }): SourceFile {
  const lines = new LineCounter()
  const place = { file: options.file, index: 1, lines }
  const scanned = scan(text, lines.addNewLine)
  if (scanned.kind === 'refused') {
    return { documents: [], findings: placed(scanned.problems, scanned.starts, place) }
  }
  const composed = [...new Composer(COMPOSE).compose(scanned.tokens, false, text.length)]
  const findings = placed(scanned.problems, scanned.starts, place)
  const documents = composed.flatMap((document, position) => {
    const here = { ...place, index: position + 1 }
    const broken = [...document.errors, ...document.warnings]
    // What anchors, tags and directives do to a document was said above, in one finding each.
    if (broken.length > 0 && findings.some((finding) => finding.document === here.index)) return []
    for (const error of broken) {
      if (!hasRoom(findings)) break
      findings.push(findingAt(here, error.pos[0], [], syntaxProblem(error)))
    }
    if (broken.length > 0 || isEmpty(document.contents)) return []
    return [toSource(document.contents, here, findings)]
  })
  return { documents, findings }
}

/** `starts` are the offsets at which documents begin. */
function placed(problems: readonly PlacedProblem[], starts: readonly number[], place: Place): Finding[] {
  return problems.map((problem) => {
    const index = Math.max(1, starts.findLastIndex((start) => start <= problem.offset) + 1)
    return findingAt({ ...place, index }, problem.offset, [], problem)
  })
}

const COMPOSE = {
  version: '1.2',
  schema: 'core',
  merge: false,
  strict: true,
  stringKeys: true,
  // Told by our own walk, with the line of both.
  uniqueKeys: false,
  prettyErrors: false,
  logLevel: 'error',
} as const

function toSource(root: Node, place: Place, findings: Finding[]): SourceDocument {
  const refused = new Set<unknown>()
  const report: Report = (path, offset, problem) => {
    if (!hasRoom(findings)) return
    refused.add(placeOf(root, path))
    findings.push(findingAt(place, offset, path, problem))
  }
  const data = toData(root, [], { report, lineOf: (offset) => place.lines.linePos(offset).line })
  const start = place.lines.linePos(root.range?.[0] ?? 0)
  return {
    file: place.file,
    index: place.index,
    data,
    position: { line: start.line, column: start.col },
    finding: (path, problem, at = 'value') => findingAt(place, offsetAt(root, path, at), path, problem),
    written: (path) => writtenAt(root, path),
    isRefused: (path) => refused.has(placeOf(root, path)),
  }
}

type Report = (path: Path, offset: number, problem: Problem) => void
type Walk = { readonly report: Report; readonly lineOf: (offset: number) => number }

/** Recurses at most as deep as the scan allowed. */
function toData(node: unknown, path: Path, walk: Walk): unknown {
  if (isMap(node)) return mapToData(node.items, path, walk)
  if (isSeq(node)) return node.items.map((item, index) => toData(item, [...path, index], walk))
  if (isScalar(node)) return scalarToData(node, path, walk)
  // An alias, which the scan has refused already, or no node at all.
  return null
}

function mapToData(items: readonly Pair[], path: Path, walk: Walk): Record<string, unknown> {
  const data: Record<string, unknown> = {}
  const seen = new Map<string, number>()
  for (const { key, value } of items) {
    if (!isScalar(key)) continue
    const name = String(key.value)
    const offset = key.range?.[0] ?? 0
    const first = seen.get(name)
    const problem =
      first === undefined ? keyProblem(name) : duplicate(name, walk.lineOf(first), walk.lineOf(offset))
    if (problem !== undefined) walk.report([...path, name], offset, problem)
    else {
      seen.set(name, offset)
      data[name] = toData(value, [...path, name], walk)
    }
  }
  return data
}

function keyProblem(name: string): Problem | undefined {
  if (name === '__proto__')
    return { code: 'key_refused', message: `the key ${showName(name)} is not accepted` }
  if (name === '<<')
    return { code: 'alias_refused', message: 'merge keys are not accepted', hint: 'write the values out' }
  return undefined
}

function duplicate(name: string, first: number, second: number): Problem {
  return {
    code: 'duplicate_key',
    message: `the key ${showName(name)} is written twice, in lines ${first} and ${second}`,
  }
}

function scalarToData(node: Scalar, path: Path, walk: Walk): unknown {
  const { value, source } = node
  if (typeof value === 'number' && source !== undefined && (String(value) !== source || !isExact(value))) {
    walk.report(path, node.range?.[0] ?? 0, {
      code: 'ambiguous_scalar',
      message: 'this number would be changed by reading it',
      hint: 'write it in quotes when it is text, such as "0644" or "1.30", and in plain decimal digits when it is a number',
    })
  }
  return value
}

function isExact(value: number): boolean {
  return Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value)
}

function isEmpty(node: Node | null): node is null {
  return node === null || (isScalar(node) && node.value === null)
}

function findNode(
  root: unknown,
  path: Path,
): { readonly pair: Pair | undefined; readonly node: unknown; readonly isExact: boolean } {
  let node = root
  let pair: Pair | undefined
  for (const segment of path) {
    if (isMap(node)) {
      const found = node.items.find(({ key }) => isScalar(key) && String(key.value) === segment)
      if (found === undefined) return { pair, node, isExact: false }
      pair = found
      node = found.value
    } else if (isSeq(node) && typeof segment === 'number' && segment < node.items.length) {
      pair = undefined
      node = node.items[segment]
    } else return { pair, node, isExact: false }
  }
  return { pair, node, isExact: true }
}

/** What stands for a path in a set: the first entry of that key, or the item of a list. Nothing for a path that is not written. */
function placeOf(root: unknown, path: Path): unknown {
  const { pair, node, isExact } = findNode(root, path)
  return isExact ? (pair ?? node) : undefined
}

function offsetAt(root: unknown, path: Path, at: 'key' | 'value'): number {
  const { pair, node, isExact } = findNode(root, path)
  const keyOffset = startOf(pair?.key)
  const isMissing = !isExact || (isScalar(node) && node.value === null)
  return (at === 'key' || isMissing ? keyOffset : undefined) ?? startOf(node) ?? keyOffset ?? 0
}

function startOf(node: unknown): number | undefined {
  return isMap(node) || isSeq(node) || isScalar(node) ? node.range?.[0] : undefined
}

function writtenAt(root: unknown, path: Path): 'plain' | 'quoted' | 'collection' | 'absent' {
  const { node, isExact } = findNode(root, path)
  if (!isExact) return 'absent'
  if (!isScalar(node)) return 'collection'
  return node.type === 'PLAIN' ? 'plain' : 'quoted'
}

function findingAt(place: Place, offset: number, path: Path, problem: Problem): Finding {
  const { line, col } = place.lines.linePos(offset)
  const { code, message, hint } = problem
  return {
    severity: 'error',
    code,
    file: place.file,
    document: place.index,
    line: Math.max(1, line),
    column: Math.max(1, col),
    path: showPath(path),
    message,
    ...(hint === undefined ? {} : { hint }),
  }
}
