/** `stelectl apply`: a new configuration for nodes, checked here and there, with proof that it is in force. */
import type { Command } from 'commander'
import type { ApplyMode, ApplyResponse } from '#api'
import { printFindings, readDocument, refusedDocument } from '../document.ts'
import { durationBetween, formatDistance } from '../duration.ts'
import { fanOut, report } from '../fan-out.ts'
import { toFailure, type ExitCode } from '../failure.ts'
import { CliFault } from '../fault.ts'
import { guard } from '../guard.ts'
import { keyedCall, readCall, withNodes, type Node } from '../nodes.ts'
import { verb, wholeNumber, type Host, type Run } from '../run.ts'
import { waitForRevision } from '../wait.ts'
import { examples } from './help.ts'

type Options = {
  readonly file: string
  readonly dryRun?: boolean
  readonly try?: number
  readonly stage?: boolean
  readonly expectedRevision?: number
  readonly yes?: boolean
}

export function addApply(program: Command, host: Host): void {
  const command = program
    .command('apply')
    .description('replace the configuration of nodes')
    .requiredOption('-f, --file <file>', 'the document, or - for stdin')
    .option('--dry-run', 'show what would change and change nothing')
    .option(
      '--try <duration>',
      'go back by itself after this long, 5s to 1h, unless it is applied for good',
      durationBetween('5s', '1h'),
    )
    .option('--stage', 'keep it for the next boot')
    .option(
      '--expected-revision <n>',
      'refuse when another revision is in force (default: the one in force now)',
      wholeNumber(0, Number.MAX_SAFE_INTEGER),
    )
    .option('-y, --yes', 'do it on every node of the context without being asked')
    .action(verb<Options>(host, apply))
  examples(command, [
    'apply -f worker.yaml --nodes worker-1 --dry-run',
    'apply -f worker.yaml --nodes worker-1 --try 60s',
    'apply -f worker.yaml --nodes worker-1 --stage',
  ])
}

const MODES = { now: 0, try: 1, stage: 2 } as const satisfies Record<string, ApplyMode>
const APPLY_WAIT_MS = 60_000

async function apply(run: Run<Options>): Promise<ExitCode> {
  if (run.options.try !== undefined && run.options.stage === true) {
    throw new CliFault('usage', '--try and --stage exclude each other', {
      hint: '--try takes effect now and goes back by itself; --stage waits for the next boot',
    })
  }
  const document = await readDocument(run.options.file, run.signal)
  const errors = await printFindings(run.output, document.findings)
  if (errors > 0) {
    const failure = toFailure(refusedDocument(document.label, errors))
    run.output.failure(failure)
    return failure.exit
  }
  const isDryRun = run.options.dryRun === true
  return withNodes(run, async (selection) => {
    const asked = { doing: 'apply this to', dryRun: (node: Node) => applyTo(run, node, document.text, true) }
    const refusal = isDryRun ? undefined : await guard(run, selection, asked)
    if (refusal !== undefined) return refusal
    const outcomes = await fanOut(selection.nodes, async (node) => {
      const answer = await applyTo(run, node, document.text, isDryRun)
      if (!isDryRun) await awaitRevision(run, node, answer)
      return answer
    })
    return report(run.output, outcomes, {
      data: (answer) => ({ dryRun: isDryRun, ...answer }),
      text: (answered) => answered.map(({ node, value }) => describe(run, node, value)).join('\n'),
    })
  })
}

async function applyTo(
  run: Run<Options>,
  node: Node,
  document: string,
  dryRun: boolean,
): Promise<ApplyResponse> {
  const expectedRevision = await revisionOf(run, node)
  return keyedCall(run, (options, idempotencyKey) =>
    node.client.config.apply(
      {
        document,
        expectedRevision,
        mode: modeOf(run.options),
        tryTimeout: trial(run.options),
        dryRun,
        idempotencyKey,
      },
      options,
    ),
  )
}

async function revisionOf(run: Run<Options>, node: Node): Promise<bigint> {
  if (run.options.expectedRevision !== undefined) return BigInt(run.options.expectedRevision)
  const { status } = await readCall(run, (call) => node.client.system.getStatus({}, call))
  return status?.configRevision ?? 0n
}

function modeOf(options: Options): ApplyMode {
  if (options.stage === true) return MODES.stage
  return options.try === undefined ? MODES.now : MODES.try
}

/** A protobuf Duration. */
function trial(options: Options): { seconds: bigint; nanos: number } | undefined {
  if (options.try === undefined) return undefined
  return { seconds: BigInt(Math.floor(options.try / 1000)), nanos: (options.try % 1000) * 1_000_000 }
}

async function awaitRevision(run: Run<Options>, node: Node, answer: ApplyResponse): Promise<void> {
  const progress = run.output.progress()
  try {
    await waitForRevision(
      { revision: answer.revision, staged: run.options.stage === true },
      {
        node: node.name,
        connect: node.connect,
        clock: run.clock,
        signal: run.signal,
        deadlineMs: run.shared.timeoutMs ?? APPLY_WAIT_MS,
        operationId: answer.operationId,
        onProgress: progress.update,
      },
    )
  } finally {
    progress.end()
  }
}

function describe(run: Run<Options>, node: string, answer: ApplyResponse): string {
  const effects = answer.changes.map((change) => `  ${change.path}: ${change.effect}`)
  const lines = [hunks(answer.diff), ...(effects.length === 0 ? [] : ['takes effect:', ...effects])]
  const warnings = answer.findings.map(
    ({ line, column, message }) =>
      `warning: ${run.options.file}${line === 0 ? '' : `:${line}:${column}`}: ${message}`,
  )
  return [...lines, ...warnings, verdict(run, node, answer)].filter((line) => line !== '').join('\n')
}

/** Pure: a patch without the lines that say nothing here, or that nothing differs. */
export function hunks(diff: string): string {
  if (!/^@@/m.test(diff)) return 'no change'
  return diff.replace(/^(Index: .*|=+)\n/gm, '').trimEnd()
}

function verdict(run: Run<Options>, node: string, answer: ApplyResponse): string {
  const reboot = answer.rebootRequired ? '; some of it waits for a reboot' : ''
  if (run.options.dryRun === true) return `${node} would have revision ${answer.revision}${reboot}`
  if (run.options.stage === true) return `${node} has revision ${answer.revision} staged for the next boot`
  if (answer.tryUntil === undefined) return `${node} has revision ${answer.revision}${reboot}`
  const until = formatDistance(answer.tryUntil, run.clock.now())
  const context = run.shared.context === undefined ? '' : ` --context ${run.shared.context}`
  const keep = `keep it with stelectl${context} apply -f ${run.options.file} --nodes ${node}`
  return `${node} has revision ${answer.revision} on trial, goes back ${until}${reboot}\n${keep}`
}
