/** A document on its way to a node: read, unwrapped and checked here first, so that a mistake is told with its line before anything is asked. */
import type { DecodedUserData, Finding, NodeConfiguration } from '#config'
import { readInput } from './file.ts'
import { CliFault } from './fault.ts'
import type { Output } from './output.ts'

export type CheckedDocument = {
  readonly text: string
  readonly label: string
  readonly configuration: NodeConfiguration | undefined
  readonly findings: readonly Finding[]
}

/** Reads and checks a document. Throws CliFault `file_unreadable`, `file_too_large`, `invalid_document` (when it is not text of ours at all). */
export async function readDocument(path: string): Promise<CheckedDocument> {
  const { bytes, label } = await readInput(path)
  const { decodeUserData, parseNodeConfiguration } = await import('#config')
  const decoded = decodeUserData(bytes, {})
  if (!decoded.ok) {
    const { message, hint } = decoded.error
    throw new CliFault('invalid_document', `${label}: ${message}`, {
      cause: decoded.error,
      ...(hint === undefined ? {} : { hint }),
    })
  }
  const { text }: DecodedUserData = decoded.value
  const parsed = parseNodeConfiguration(text, { file: label })
  return parsed.ok
    ? { text, label, configuration: parsed.value, findings: [] }
    : { text, label, configuration: undefined, findings: parsed.error }
}

/** Prints findings, each as `file:line:column: message`. Returns how many of them refuse the document. */
export async function printFindings(output: Output, findings: readonly Finding[]): Promise<number> {
  const { formatFinding } = await import('#config')
  for (const finding of findings) {
    output.finding(formatFinding(finding))
    if (finding.hint !== undefined && !finding.message.includes(finding.hint))
      output.finding(`  ${finding.hint}`)
  }
  return findings.filter((finding) => finding.severity === 'error').length
}

/** What is said once the findings are told. */
export function refusedDocument(label: string, errors: number): CliFault {
  const problems = errors === 1 ? '1 problem' : `${errors} problems`
  return new CliFault('invalid_document', `${label} has ${problems}`)
}
