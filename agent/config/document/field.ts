/** The building blocks of the schemas: strict mappings and text with a rule. */
import { z } from 'zod'
import type { Path, Problem } from '../finding.ts'

export type Rule = (value: string) => Problem | undefined

/** A mapping that knows all its keys. The list of them travels in the issue, so that a misspelt key can be told the closest one. */
export function fields<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const known = Object.keys(shape).join(',')
  return z.strictObject(shape, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? known : undefined),
  })
}

/** Text of at most `max` characters that obeys every rule. */
export function text(rules: Rule | readonly Rule[] = [], max = 1024) {
  return z
    .string()
    .max(max)
    .check((context) => {
      if (context.value.length > max) return
      const problem = firstProblem([rules].flat(), context.value)
      if (problem !== undefined) context.issues.push(issueOf(context.value, problem))
    })
}

function firstProblem(rules: readonly Rule[], value: string): Problem | undefined {
  for (const rule of rules) {
    const problem = rule(value)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** An issue that `check.ts` turns into a finding with the problem's code and words. */
export function issueOf(input: unknown, problem: Problem, path: Path = []) {
  const { code, message, hint } = problem
  const params = hint === undefined ? { code } : { code, hint }
  return { code: 'custom' as const, input, message, params, path: [...path] }
}

/** A rule by pattern; `expected` completes "has to be …". */
export function pattern(expression: RegExp, expected: string, code = 'wrong_form'): Rule {
  return (value) => (expression.test(value) ? undefined : { code, message: `has to be ${expected}` })
}

/** Text to text, at most `max` entries, each key obeying `key`. */
export function textMap(key: Rule, value: Rule | readonly Rule[] = [], max = 256) {
  return mapOf(key, text(value, 4096), max)
}

/** A mapping of free keys. */
export function mapOf<Value extends z.ZodType>(key: Rule, value: Value, max = 256) {
  return z.record(z.string(), value).check((context) => {
    const keys = Object.keys(context.value)
    if (keys.length > max) {
      const problem = { code: 'out_of_range', message: `has to be at most ${max} entries` }
      context.issues.push(issueOf(context.value, problem))
    }
    for (const name of keys.slice(0, max)) {
      const problem = key(name)
      if (problem === undefined) continue
      const worded = { ...problem, message: `the name of this entry ${problem.message}` }
      context.issues.push(issueOf(context.value, worded, [name]))
    }
  })
}
