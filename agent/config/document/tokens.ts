/**
 * The first look at YAML text, before anything is built from it: sizes, nesting, and the features of YAML that a configuration never needs.
 *
 * Invariant: nothing here recurses, so that no text can exhaust the stack.
 */
import { Lexer, Parser, type CST } from 'yaml'
import { hasRoom, type Problem } from '../finding.ts'
import { badEscapes } from './syntax.ts'

export const MAX_BYTES = 1024 * 1024
export const MAX_DEPTH = 64
export const MAX_DOCUMENTS = 32
/** Lexemes, and what long texts count for. A configuration has a few thousand; the limit bounds the time that parsing takes. */
const MAX_PARTS = 30_000
/** Every line of a text over several lines is folded, which costs about an eighth of a lexeme. */
const LINES_PER_PART = 8

export type PlacedProblem = Problem & { readonly offset: number }

export type Scan =
  | {
      readonly kind: 'tokens'
      readonly tokens: readonly CST.Token[]
      readonly problems: readonly PlacedProblem[]
      /** Where documents begin, in order. */
      readonly starts: readonly number[]
    }
  | {
      readonly kind: 'refused'
      readonly problems: readonly PlacedProblem[]
      readonly starts: readonly number[]
    }

/** Returns the tokens of `text` with every forbidden feature in it, or the limit that it breaks. */
export function scan(text: string, onNewLine: (offset: number) => void): Scan {
  if (Buffer.byteLength(text) > MAX_BYTES) return refuse(0, 'too_large', 'the document is larger than 1 MiB')
  const parser = new Parser(onNewLine)
  const tokens: CST.Token[] = []
  let parts = 0
  onNewLine(0)
  for (const lexeme of new Lexer().lex(text)) {
    parts += partsIn(lexeme)
    if (parts > MAX_PARTS) return refuse(0, 'too_complex', `the document has more than ${MAX_PARTS} parts`)
    tokens.push(...parser.next(lexeme))
    // Between document and scalar, everything on the stack of the parser is a level. `inspect` counts exactly.
    if (parser.stack.length > MAX_DEPTH + 2) return tooDeep(parser.offset)
  }
  tokens.push(...parser.end())
  const starts = tokens.flatMap((token) => (token.type === 'document' ? [token.offset] : []))
  const surplus = starts[MAX_DOCUMENTS]
  if (surplus !== undefined) {
    return refuse(surplus, 'too_many_documents', `a file holds at most ${MAX_DOCUMENTS} documents`)
  }
  return inspect(tokens, starts)
}

/** What reading a lexeme costs. The YAML library makes an error for each bad escape, however many one text holds. */
function partsIn(lexeme: string): number {
  let lines = 0
  for (let at = lexeme.indexOf('\n'); at !== -1; at = lexeme.indexOf('\n', at + 1)) lines += 1
  return 1 + lines / LINES_PER_PART + (lexeme.startsWith('"') ? badEscapes(lexeme) : 0)
}

/** Walks the token tree in the order of the text, with a list of its own in place of the stack. */
function inspect(tokens: readonly CST.Token[], starts: readonly number[]): Scan {
  const problems: PlacedProblem[] = []
  // A token is an object with fields of its kind: read here by name, whatever the kind.
  const open = tokens.toReversed().map((token) => ({ token: token as unknown as Part, depth: 0 }))
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { type = '', offset = 0 } = next.token
    const depth = next.depth + (COLLECTIONS.has(type) ? 1 : 0)
    if (depth > MAX_DEPTH) return tooDeep(offset)
    const problem = FORBIDDEN.get(type)
    if (problem !== undefined) problems.push({ ...problem, offset })
    // Nothing more is worth knowing about such a text.
    if (!hasRoom(problems)) return { kind: 'refused', problems, starts }
    for (const token of childrenOf(next.token).reverse()) open.push({ token, depth })
  }
  return { kind: 'tokens', tokens, problems, starts }
}

type Part = {
  readonly type?: string
  readonly offset?: number
  readonly [field: string]: unknown
}

const CHILD_FIELDS = ['start', 'key', 'sep', 'value', 'props', 'items', 'end'] as const

function childrenOf(token: Part): Part[] {
  return CHILD_FIELDS.flatMap((field) => {
    const value = token[field]
    const list: unknown[] = Array.isArray(value) ? value : [value]
    // Every object in these fields is a token or an item of one.
    return list.filter((one): one is Part => typeof one === 'object' && one !== null)
  })
}

const COLLECTIONS: ReadonlySet<string> = new Set(['block-map', 'block-seq', 'flow-collection'])

const ALIAS = {
  code: 'alias_refused',
  message: 'anchors and aliases are not accepted',
  hint: 'write the value out, or put text that starts with & or * in quotes',
}

const FORBIDDEN: ReadonlyMap<string, Problem> = new Map<string, Problem>([
  ['alias', ALIAS],
  ['anchor', ALIAS],
  [
    'tag',
    { code: 'tag_refused', message: 'tags are not accepted', hint: 'put text that starts with ! in quotes' },
  ],
  [
    'directive',
    { code: 'directive_refused', message: 'directives (lines that start with %) are not accepted' },
  ],
])

function refuse(offset: number, code: string, message: string): Scan {
  return { kind: 'refused', problems: [{ offset, code, message }], starts: [] }
}

function tooDeep(offset: number): Scan {
  return refuse(offset, 'too_deep', `the document is nested deeper than ${MAX_DEPTH} levels`)
}
