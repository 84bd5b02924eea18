/**
 * The first look at YAML text, before anything is built from it: sizes, nesting, and the features of YAML that a configuration never needs.
 *
 * Invariant: nothing here recurses, so that no text can exhaust the stack.
 */
import { Lexer, Parser, type CST } from 'yaml'
import type { Problem } from '../finding.ts'

export const MAX_BYTES = 1024 * 1024
export const MAX_DEPTH = 64
export const MAX_DOCUMENTS = 32
/** A configuration has a few thousand; the limit bounds the time that parsing takes. */
const MAX_LEXEMES = 100_000

export type PlacedProblem = Problem & { readonly offset: number }

export type Scan =
  | {
      readonly kind: 'tokens'
      readonly tokens: readonly CST.Token[]
      readonly problems: readonly PlacedProblem[]
    }
  | { readonly kind: 'refused'; readonly problem: PlacedProblem }

/** Returns the tokens of `text` with every forbidden feature in it, or the limit that it breaks. */
export function scan(text: string, onNewLine: (offset: number) => void): Scan {
  if (Buffer.byteLength(text) > MAX_BYTES) return refuse(0, 'too_large', 'the document is larger than 1 MiB')
  const parser = new Parser(onNewLine)
  const tokens: CST.Token[] = []
  let lexemes = 0
  onNewLine(0)
  for (const lexeme of new Lexer().lex(text)) {
    lexemes += 1
    if (lexemes > MAX_LEXEMES) {
      return refuse(0, 'too_complex', `the document has more than ${MAX_LEXEMES} parts`)
    }
    tokens.push(...parser.next(lexeme))
  }
  tokens.push(...parser.end())
  const documents = tokens.filter((token) => token.type === 'document')
  if (documents.length > MAX_DOCUMENTS) {
    const offset = documents[MAX_DOCUMENTS]?.offset ?? 0
    return refuse(offset, 'too_many_documents', `a file holds at most ${MAX_DOCUMENTS} documents`)
  }
  return inspect(tokens)
}

/** Walks the token tree with a list of its own in place of the stack. */
function inspect(tokens: readonly CST.Token[]): Scan {
  const problems: PlacedProblem[] = []
  // A token is an object with fields of its kind: read here by name, whatever the kind.
  const open = tokens.map((token) => ({ token: token as unknown as Part, depth: 0 }))
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { type = '', offset = 0 } = next.token
    const depth = next.depth + (COLLECTIONS.has(type) ? 1 : 0)
    if (depth > MAX_DEPTH) {
      return refuse(offset, 'too_deep', `the document is nested deeper than ${MAX_DEPTH} levels`)
    }
    const problem = FORBIDDEN.get(type)
    if (problem !== undefined) problems.push({ ...problem, offset })
    for (const token of childrenOf(next.token)) open.push({ token, depth })
  }
  return { kind: 'tokens', tokens, problems }
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
  return { kind: 'refused', problem: { offset, code, message } }
}
