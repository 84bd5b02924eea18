/** The mask of a secret, as documents show it, and its refusal where a document brings it back. */
import type { SourceDocument } from './document/read.ts'
import { MAX_FINDINGS, type Finding, type Path } from './finding.ts'

export const MASK = '[secret]'

const PROBLEM = {
  code: 'masked_secret',
  message: 'is the mask of a secret, not the secret',
  hint: 'get the document with --show-secrets, or write the secret',
}

/**
 * A finding for each value that is the mask: who edits a document that was shown and applies it would make the mask the secret. The mask is
 * refused everywhere, since no value that means anything looks like it.
 */
export function maskFindings(source: SourceDocument): readonly Finding[] {
  const findings: Finding[] = []
  const left: { readonly value: unknown; readonly path: Path }[] = [{ value: source.data, path: [] }]
  for (let next = left.pop(); next !== undefined && findings.length < MAX_FINDINGS; next = left.pop()) {
    const { value, path } = next
    if (value === MASK) findings.push(source.finding(path, PROBLEM))
    if (Array.isArray(value))
      value.forEach((item: unknown, index) => left.push({ value: item, path: [...path, index] }))
    else if (typeof value === 'object' && value !== null) {
      for (const [key, item] of Object.entries(value)) left.push({ value: item, path: [...path, key] })
    }
  }
  return findings
}
