/** `stelectl validate`: a document checked here, without asking a node. */
import type { Command } from 'commander'
import { printFindings, readDocument, refusedDocument, type CheckedDocument } from '../document.ts'
import { toFailure, type ExitCode } from '../failure.ts'
import { verb, type Host, type Run } from '../run.ts'
import { examples } from './help.ts'

export function addValidate(program: Command, host: Host): void {
  const command = program
    .command('validate')
    .description('check a node configuration or user data, every problem at once')
    .argument('<file>', 'the document, or - for stdin; gzip and base64 are unwrapped')
    .action(verb(host, validate))
  examples(command, [
    'validate controlplane.yaml',
    'render -f cluster.yaml --machine cp-1 | stelectl validate -',
  ])
}

async function validate(run: Run): Promise<ExitCode> {
  const document = await readDocument(run.operands[0] ?? '-', run.signal)
  const errors = document.findings.filter((finding) => finding.severity === 'error').length
  if (run.output.format !== 'table') run.output.result(resultData(document, errors), () => '')
  else if (errors === 0) run.output.result({}, () => okLine(document))
  if (errors === 0) return 0
  if (run.output.format === 'table') await printFindings(run.output, document.findings)
  const failure = toFailure(refusedDocument(document.label, errors))
  run.output.failure(failure)
  return failure.exit
}

function resultData(document: CheckedDocument, errors: number): object {
  return {
    file: document.label,
    valid: errors === 0,
    role: document.configuration?.role,
    findings: document.findings,
  }
}

function okLine(document: CheckedDocument): string {
  return `${document.label}: valid, role ${document.configuration?.role ?? 'undecided'}`
}
