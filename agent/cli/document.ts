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
export async function readDocument(path: string, signal?: AbortSignal): Promise<CheckedDocument> {
  const { bytes, label } = await readInput(path, signal === undefined ? {} : { signal })
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
    : { text, label, configuration: undefined, findings: otherDocument(text, label) ?? parsed.error }
}

type Other = { readonly mark: RegExp; readonly code: string; readonly message: string }

/** Files that people hand to us by mistake, by a line that only they have. */
const OTHERS: readonly Other[] = [
  {
    mark: /^apiVersion: *['"]?(bootstrap\.)?cluster\.x-k8s\.io\//m,
    code: 'cluster_manifests',
    message: 'these are manifests of a cluster; see stelectl render -f',
  },
  {
    mark: /^nodeCa:/m,
    code: 'cluster_secrets',
    message: 'these are the secrets of a cluster; they go to stelectl gen config and render by --secrets',
  },
  {
    mark: /^contexts:/m,
    code: 'contexts_file',
    message: 'this is a file of contexts; see stelectl config merge',
  },
]

/** The one finding for a file that is no node configuration but another one of ours; undefined for what has a NodeConfig in it. */
function otherDocument(text: string, file: string): readonly Finding[] | undefined {
  if (/^kind: *['"]?NodeConfig\b/m.test(text)) return undefined
  for (const { mark, code, message } of OTHERS) {
    const at = text.search(mark)
    if (at === -1) continue
    const line = text.slice(0, at).split('\n').length
    return [{ severity: 'error', code, file, document: 1, line, column: 1, path: '', message }]
  }
  return undefined
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
