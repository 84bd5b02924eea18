/** `stelectl status`: every node in a row, once or as it changes. */
import type { Command } from 'commander'
import type { MachineState, NodeRole, NodeStatus } from '#api'
import { fanOut, report, type Outcome } from '../fan-out.ts'
import { toFailure, worstExit, type ExitCode, type Failure } from '../failure.ts'
import { CliFault } from '../fault.ts'
import { readCall, withNodes, type Node } from '../nodes.ts'
import { toErrorData } from '../output.ts'
import { verb, type Host, type Run } from '../run.ts'
import { table } from '../text.ts'
import { examples } from './help.ts'

// Enums of the API by number, so that help and completion need not load the API; the type makes a missing number a compile error.
const ROLES: Readonly<Record<NodeRole, string>> = { 0: '', 1: 'control-plane', 2: 'worker' }

const STATES: Readonly<Record<MachineState, string>> = {
  0: 'unknown',
  1: 'booting',
  2: 'running',
  3: 'quarantine',
  4: 'rebooting',
  5: 'stopping',
}

type Options = { readonly watch?: boolean }

export function addStatus(program: Command, host: Host): void {
  const command = program
    .command('status')
    .description('show the nodes: role, state, services, configuration')
    .option('-w, --watch', 'stay, and show each change')
    .action(verb<Options>(host, (run) => (run.options.watch === true ? watch(run) : once(run))))
  examples(command, ['status', 'status -w', 'status --nodes cp-1 -o json'])
}

async function once(run: Run<Options>): Promise<ExitCode> {
  return withNodes(run, async ({ nodes }) => {
    const outcomes = await fanOut(nodes, async (node) => statusOf(run, node))
    return report(run.output, outcomes, { data: statusData, text: () => statusTable(outcomes) })
  })
}

/** The status of one node. Throws CliFault `reply_empty` when the answer holds none. */
export async function statusOf(run: Run<unknown>, node: Node): Promise<NodeStatus> {
  const { status } = await readCall(run, (call) => node.client.system.getStatus({}, call))
  if (status === undefined) throw new CliFault('reply_empty', 'the node answered without a status')
  return status
}

/** Pure: the table and, below it, what a person should know or do. A node without an answer keeps its row. */
export function statusTable(outcomes: readonly Outcome<NodeStatus>[]): string {
  const rows = outcomes.map((outcome) =>
    outcome.kind === 'answer' ? statusRow(outcome.node, outcome.value) : failureRow(outcome),
  )
  const lines = [table(['NODE', 'ROLE', 'STATE', 'SERVICES', 'CONFIG'], rows)]
  for (const outcome of outcomes) if (outcome.kind === 'answer') lines.push(...findingLines(outcome))
  return lines.join('\n')
}

function statusRow(node: string, status: NodeStatus): string[] {
  const staged = status.stagedRevision === 0n ? '' : `, rev ${status.stagedRevision} staged`
  const trial = status.tryUntil === undefined ? '' : ', on trial'
  return [
    node,
    ROLES[status.role],
    status.step === '' ? STATES[status.state] : `${STATES[status.state]} (${status.step})`,
    `${status.servicesRunning}/${status.servicesTotal}`,
    status.configRevision === 0n ? '' : `rev ${status.configRevision}${staged}${trial}`,
  ]
}

function failureRow(outcome: { readonly node: string; readonly failure: Failure }): string[] {
  return [outcome.node, '', failureState(outcome.failure), '', '']
}

/** A refusal is never shown as a broken network. */
function failureState(failure: Failure): string {
  if (failure.exit === 5) return 'unreachable'
  return failure.exit === 3 || failure.exit === 4 ? 'refused' : 'failed'
}

function findingLines(outcome: { readonly node: string; readonly value: NodeStatus }): string[] {
  return outcome.value.findings.flatMap((finding) => [
    `${outcome.node}: ${finding.message} [${finding.code}]`,
    ...(finding.remedy === '' ? [] : [`  ${finding.remedy}`]),
  ])
}

/** Pure: a status as programs read it. */
export function statusData(status: NodeStatus): object {
  return {
    role: ROLES[status.role] || 'undecided',
    state: STATES[status.state],
    step: status.step,
    bootId: status.bootId,
    bootedAt: status.bootedAt,
    machineId: status.machineId === '' ? undefined : status.machineId,
    services: { running: status.servicesRunning, total: status.servicesTotal },
    config: {
      revision: status.configRevision,
      digest: status.configDigest,
      stagedRevision: status.stagedRevision === 0n ? undefined : status.stagedRevision,
      tryUntil: status.tryUntil,
    },
    addresses: status.addresses,
    certificate: { notAfter: status.certificateNotAfter, renewAt: status.certificateRenewAt },
    findings: status.findings,
  }
}

const RECONNECT_MS = 1000

async function watch(run: Run<Options>): Promise<ExitCode> {
  return withNodes(run, async ({ nodes }) => {
    const latest = new Map<string, Outcome<NodeStatus>>()
    const screen = run.output.isLive ? await run.output.screen() : undefined
    const show = (outcome: Outcome<NodeStatus>): void => {
      latest.set(outcome.node, outcome)
      const known = nodes.flatMap((node) => latest.get(node.name) ?? [])
      if (screen !== undefined) screen.draw(statusTable(known))
      else run.output.item(changeData(outcome), () => changeLine(outcome, run.clock.now()))
    }
    try {
      await Promise.all(nodes.map((node) => watchNode(run, node, show)))
    } finally {
      screen?.end()
    }
    return worstExit([...latest.values()].map((seen) => (seen.kind === 'failure' ? seen.failure.exit : 0)))
  })
}

type Show = (outcome: Outcome<NodeStatus>) => void

/** Watches one node until it refuses us for good; a broken connection shows as a row, once, and is tried again. */
async function watchNode(run: Run<unknown>, node: Node, show: Show): Promise<void> {
  let lastFailure = ''
  const showAnswer: Show = (outcome) => {
    lastFailure = ''
    show(outcome)
  }
  for (;;) {
    const failure = await watchOnce(run, node, showAnswer)
    if (failure !== undefined) {
      if (failure.message !== lastFailure) show({ node: node.name, kind: 'failure', failure })
      lastFailure = failure.message
      if (failure.exit !== 5) return
    }
    await run.clock.sleep(RECONNECT_MS, run.signal)
  }
}

/** Returns why the stream broke; undefined when the node ended it. A connection of its own, so that no back-off is sat out. */
async function watchOnce(run: Run<unknown>, node: Node, show: Show): Promise<Failure | undefined> {
  const client = node.connect()
  try {
    for await (const { status } of client.system.watchStatus({}, { signal: run.signal })) {
      if (status !== undefined) show({ node: node.name, kind: 'answer', value: status })
    }
    return undefined
  } catch (error) {
    run.signal.throwIfAborted()
    return toFailure(await node.explain(error))
  } finally {
    client.close()
  }
}

function changeData(outcome: Outcome<NodeStatus>): object {
  return outcome.kind === 'answer'
    ? { node: outcome.node, ...statusData(outcome.value) }
    : { node: outcome.node, error: toErrorData(outcome.failure) }
}

function changeLine(outcome: Outcome<NodeStatus>, now: Date): string {
  const row = outcome.kind === 'answer' ? statusRow(outcome.node, outcome.value) : failureRow(outcome)
  return `${now.toISOString()}  ${row.map((cell) => cell || '-').join('  ')}`
}
