/** `stelectl reboot` and `stelectl shutdown`. */
import { Option, type Command } from 'commander'
import type { RebootMode, RebootResponse } from '#api'
import { parseDuration } from '../duration.ts'
import { fanOut, report, type Outcome } from '../fan-out.ts'
import type { ExitCode } from '../failure.ts'
import { guard } from '../guard.ts'
import { keyedCall, withNodes, type Node } from '../nodes.ts'
import { verb, type Host, type Run } from '../run.ts'
import {
  describeReboot,
  shortId,
  untilInterrupted,
  waitForReboot,
  WAIT_MS,
  type RebootProof,
} from '../wait.ts'
import { examples } from './help.ts'

type RebootOptions = {
  readonly mode: 'default' | 'forced'
  readonly dryRun?: boolean
  readonly wait: string | boolean
  readonly yes?: boolean
}
type ShutdownOptions = { readonly force?: boolean; readonly dryRun?: boolean; readonly yes?: boolean }

export function addPower(program: Command, host: Host): void {
  const reboot = program
    .command('reboot')
    .description('reboot nodes and wait for the proof: a new boot id')
    .addOption(
      new Option('--mode <mode>', 'stop services in order, or kill them')
        .choices(['default', 'forced'])
        .default('default'),
    )
    .option('--dry-run', 'say what would happen and change nothing')
    .addOption(
      new Option('--wait [answer]', 'wait until the nodes are back')
        .choices(['true', 'false'])
        .default('true'),
    )
    .addOption(
      new Option('--timeout <duration>', 'how long to wait for the nodes (default: 5m)').argParser(
        parseDuration,
      ),
    )
    .option('-y, --yes', 'do it on every node of the context without being asked')
    .action(verb<RebootOptions>(host, rebootNodes))
  examples(reboot, [
    'reboot --nodes worker-1',
    'reboot --nodes worker-1 --mode forced',
    'reboot --yes --timeout 10m',
  ])
  const shutdown = program
    .command('shutdown')
    .description('stop nodes and turn their power off')
    .option('--force', 'kill services instead of stopping them in order')
    .option('--dry-run', 'say what would happen and change nothing')
    .option('-y, --yes', 'do it on every node of the context without being asked')
    .action(verb<ShutdownOptions>(host, shutdownNodes))
  examples(shutdown, ['shutdown --nodes worker-1', 'shutdown --nodes worker-1 --dry-run'])
}

const MODES: Readonly<Record<RebootOptions['mode'], RebootMode>> = { default: 0, forced: 1 }

type Rebooted = { readonly answer: RebootResponse; readonly proof: RebootProof | undefined }

async function rebootNodes(run: Run<RebootOptions>): Promise<ExitCode> {
  const isDryRun = run.options.dryRun === true
  const mode = MODES[run.options.mode]
  return withNodes(run, async (selection) => {
    const call = (node: Node, dryRun: boolean): Promise<RebootResponse> =>
      keyedCall(withCallTimeout(run), (options, idempotencyKey) =>
        node.client.system.reboot({ mode, dryRun, idempotencyKey }, options),
      )
    const asked = { doing: 'reboot', dryRun: (node: Node) => call(node, true) }
    const refusal = isDryRun ? undefined : await guard(run, selection, asked)
    if (refusal !== undefined) return refusal
    const progress = run.output.progress()
    const outcomes = await fanOut(selection.nodes, async (node): Promise<Rebooted> => {
      if (isDryRun) return { answer: await call(node, true), proof: undefined }
      return untilInterrupted(run.signal, 'reboot', async (accept) => {
        const answer = await call(node, false)
        accept()
        if (run.options.wait === 'false') return { answer, proof: undefined }
        return { answer, proof: await awaitBoot(run, node, answer, progress.update) }
      })
    })
    progress.end()
    return report(run.output, outcomes, {
      data: ({ answer, proof }) => ({ dryRun: isDryRun, ...answer, ...proof }),
      text: (answered) => answered.map(({ node, value }) => rebootLine(node, value, isDryRun)).join('\n'),
    })
  })
}

/** `--timeout` of a reboot is for the waiting; each call keeps its own short deadline. */
function withCallTimeout(run: Run<RebootOptions>): Run<RebootOptions> {
  return { ...run, shared: { ...run.shared, timeoutMs: undefined } }
}

async function awaitBoot(
  run: Run<RebootOptions>,
  node: Node,
  answer: RebootResponse,
  onProgress: (text: string) => void,
): Promise<RebootProof> {
  return waitForReboot(answer.bootId, {
    node: node.name,
    connect: node.connect,
    clock: run.clock,
    signal: run.signal,
    deadlineMs: run.shared.timeoutMs ?? WAIT_MS,
    operationId: answer.operationId,
    onProgress,
  })
}

function rebootLine(node: string, { answer, proof }: Rebooted, isDryRun: boolean): string {
  if (proof !== undefined) return describeReboot(node, proof)
  if (isDryRun) return stepLines(node, 'would reboot', answer.steps)
  return `${node} reboots  boot ${shortId(answer.bootId)} ends`
}

async function shutdownNodes(run: Run<ShutdownOptions>): Promise<ExitCode> {
  const isDryRun = run.options.dryRun === true
  return withNodes(run, async (selection) => {
    const call = (node: Node, dryRun: boolean) =>
      keyedCall(run, (options, idempotencyKey) =>
        node.client.system.shutdown({ force: run.options.force === true, dryRun, idempotencyKey }, options),
      )
    const asked = { doing: 'shut down', dryRun: (node: Node) => call(node, true) }
    const refusal = isDryRun ? undefined : await guard(run, selection, asked)
    if (refusal !== undefined) return refusal
    const outcomes: readonly Outcome<Awaited<ReturnType<typeof call>>>[] = await fanOut(
      selection.nodes,
      (node) => call(node, isDryRun),
    )
    return report(run.output, outcomes, {
      data: (value) => ({ dryRun: isDryRun, ...value }),
      text: (answered) =>
        answered
          .map(({ node, value }) =>
            isDryRun
              ? stepLines(node, 'would shut down', value.steps)
              : `${node} shuts down  boot ${shortId(value.bootId)} ends`,
          )
          .join('\n'),
    })
  })
}

function stepLines(node: string, what: string, steps: readonly string[]): string {
  return [`${node} ${what}:`, ...steps.map((step) => `  ${step}`)].join('\n')
}
