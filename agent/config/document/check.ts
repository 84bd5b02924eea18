/** Schema against document: zod's issues become findings in our words, with places, and without values. */
import type { z } from 'zod'
import {
  closestName,
  hasRoom,
  MAX_FINDINGS,
  showName,
  type Finding,
  type Path,
  type Problem,
} from '../finding.ts'
import { err, ok, type Result } from '#kit/result'
import type { SourceDocument } from './read.ts'

type Issue = z.core.$ZodIssue

/** Returns the parsed value at `base` of the document, or what is wrong with it: everything, or the first 101 problems. */
export function checkDocument<T>(
  schema: z.ZodType<T>,
  document: SourceDocument,
  base: Path = [],
): Result<T, readonly Finding[]> {
  const parsed = schema.safeParse(valueAt(document.data, base))
  if (parsed.success) return ok(parsed.data)
  const findings: Finding[] = []
  for (const issue of parsed.error.issues) {
    if (!hasRoom(findings)) break
    findings.push(...explain(issue, document, base))
  }
  return err(findings)
}

/** The value at `path` of plain data, own properties only. */
export function valueAt(data: unknown, path: Path): unknown {
  let value = data
  for (const segment of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, segment)) return undefined
    // An object that has the property can be indexed by it.
    value = (value as Readonly<Record<string | number, unknown>>)[segment]
  }
  return value
}

function explain(issue: Issue, document: SourceDocument, base: Path): readonly Finding[] {
  const path = [...base, ...issue.path.map((one) => (typeof one === 'symbol' ? String(one) : one))]
  if (issue.code === 'unrecognized_keys') {
    return issue.keys
      .slice(0, MAX_FINDINGS + 1)
      .map((key) => document.finding([...path, key], unknownKey(key, issue.message), 'key'))
  }
  if (document.isRefused(path)) return []
  return [document.finding(path, problemOf(issue, document.written(path), valueAt(document.data, path)))]
}

/** `known` is what `fields()` put into the message: the names, separated by commas. */
function unknownKey(key: string, known: string): Problem {
  const names = known.split(',')
  const closest = closestName(key, names)
  const guess = closest === undefined ? '' : `; did you mean ${closest}?`
  return {
    code: 'unknown_key',
    message: `the key ${showName(key)} is not known here${guess}`,
    hint: `known here: ${names.join(', ')}`,
  }
}

type Written = ReturnType<SourceDocument['written']>

function problemOf(issue: Issue, written: Written, value: unknown): Problem {
  switch (issue.code) {
    case 'invalid_type':
      return typeProblem(issue.expected, written, value)
    case 'invalid_value':
      if (value === undefined) return { code: 'required', message: 'this is required and missing' }
      return { code: 'not_allowed', message: `has to be one of: ${issue.values.map(String).join(', ')}` }
    case 'too_small':
      return sizeProblem('at least', String(issue.origin), issue.minimum)
    case 'too_big':
      return sizeProblem('at most', String(issue.origin), issue.maximum)
    case 'custom':
      return customProblem(issue)
    default:
      return { code: 'wrong_form', message: 'has not the expected form' }
  }
}

function typeProblem(expected: string, written: Written, value: unknown): Problem {
  if (value === undefined) return { code: 'required', message: 'this is required and missing' }
  if (value === null)
    return { code: 'no_value', message: 'has no value', hint: 'remove the key or give it a value' }
  if (expected === 'string' && written === 'plain' && typeof value !== 'string') {
    return {
      code: 'ambiguous_scalar',
      message: 'text is expected, and this reads as a number or as true or false: write it in quotes',
      hint: 'write it in quotes, such as "0644" or "1.30"',
    }
  }
  return { code: 'wrong_type', message: `has to be ${TYPE_WORDS[expected] ?? 'of another type'}` }
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: 'text',
  int: 'a whole number in decimal digits, without quotes',
  number: 'a number in decimal digits, without quotes',
  boolean: 'true or false, without quotes',
  array: 'a list',
  object: 'a mapping',
  record: 'a mapping',
}

function sizeProblem(bound: string, origin: string, limit: number | bigint): Problem {
  const unit = { string: ' characters', array: ' entries', set: ' entries' }[origin] ?? ''
  return { code: 'out_of_range', message: `has to be ${bound} ${limit}${unit}` }
}

/** Only `text()` and cross-field checks make these, with their own code and words. */
function customProblem(issue: Extract<Issue, { code: 'custom' }>): Problem {
  const { code, hint } = issue.params ?? {}
  return {
    code: typeof code === 'string' ? code : 'wrong_form',
    message: issue.message,
    ...(typeof hint === 'string' ? { hint } : {}),
  }
}
