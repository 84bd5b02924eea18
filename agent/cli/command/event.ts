/** `stelectl events`: what happened on nodes, in the order in which it did. */
import type { Command } from 'commander'
import type { Event, EventServiceWatchResponse } from '#api'
import { answers, fanOut, reportFailures } from '../fan-out.ts'
import type { ExitCode } from '../failure.ts'
import { follow } from '../follow.ts'
import { formatFields } from '../log-line.ts'
import { withNodes, type Node } from '../nodes.ts'
import { verb, wholeNumber, type Host, type Run } from '../run.ts'
import { followAll } from '../stream.ts'
import { printable } from '../text.ts'
import { examples } from './help.ts'

type Options = { readonly follow?: boolean; readonly after?: number; readonly tail?: number }

const MAX_TAIL = 1_000_000
/** More of one node than this is not held here for sorting. */
const MAX_HELD = 100_000

export function addEvent(program: Command, host: Host): void {
  const events = program
    .command('events')
    .description('print what happened on nodes')
    .option('-f, --follow', 'stay, and print new events as they come')
    .option('--after <n>', 'begin after this sequence number', wholeNumber(0, Number.MAX_SAFE_INTEGER))
    .option('--tail <n>', 'begin with the last events', wholeNumber(1, MAX_TAIL))
    .action(verb<Options>(host, printEvents))
  examples(events, ['events', 'events -f', 'events --after 120 --nodes cp-1 -o json'])
}

/** Where the reading of one node goes on. */
type Position = { afterSequence: bigint; tail: number }

async function printEvents(run: Run<Options>): Promise<ExitCode> {
  return withNodes(run, async ({ nodes }) => {
    const positions = new Map(nodes.map((node) => [node, begin(run.options)]))
    const history = await fanOut(nodes, (node) => historyOf(run, node, positions.get(node) ?? begin({})))
    run.signal.throwIfAborted()
    const past = answers(history).flatMap(({ node, value }) => value.map((event) => ({ node, event })))
    for (const { node, event } of past.sort(byTime)) show(run, node, event)
    // A node that did not answer is told by the following, which tries it again.
    if (run.options.follow !== true) return reportFailures(run.output, history)
    return followAll(
      run,
      nodes,
      (node) => newEvents(run, node, positions.get(node) ?? begin({})),
      (node, message) => showMessage(run, node, message),
    )
  })
}

function begin({ after = 0, tail = 0 }: Options): Position {
  return { afterSequence: BigInt(after), tail }
}

async function historyOf(run: Run<Options>, node: Node, position: Position): Promise<readonly Event[]> {
  const held: Event[] = []
  const request = { ...position, follow: false }
  for await (const { event, missed } of node.client.event.watch(request, { signal: run.signal })) {
    warnOfMissed(run, node, missed)
    if (event === undefined) continue
    held.push(event)
    if (held.length === MAX_HELD) {
      run.output.warning(`${node.name} has more events: go on with --after ${event.sequence}`)
      break
    }
  }
  const last = held.at(-1)
  if (last !== undefined) Object.assign(position, { afterSequence: last.sequence, tail: 0 })
  return held
}

function newEvents(
  run: Run<Options>,
  node: Node,
  position: Position,
): AsyncIterable<EventServiceWatchResponse> {
  return follow(run, node, {
    atEnd: 'resume',
    open: async function* (client) {
      for await (const message of client.event.watch({ ...position, follow: true }, { signal: run.signal })) {
        if (message.event !== undefined) {
          Object.assign(position, { afterSequence: message.event.sequence, tail: 0 })
        }
        yield message
      }
    },
  })
}

function showMessage(run: Run<Options>, node: Node, { event, missed }: EventServiceWatchResponse): void {
  warnOfMissed(run, node, missed)
  if (event !== undefined) show(run, node.name, event)
}

function warnOfMissed(run: Run<Options>, node: Node, missed: bigint): void {
  if (missed > 0n) run.output.warning(`${node.name} no longer keeps ${missed} of these events`)
}

function show(run: Run<Options>, node: string, event: Event): void {
  run.output.item({ ...event, node }, () => eventLine(node, event))
}

/** Pure: one event as people read it. */
export function eventLine(node: string, event: Event): string {
  const cells = [event.at?.toISOString() ?? '-', node, String(event.sequence), event.code, event.message]
  const details = formatFields(event.details)
  return `${cells.map(printable).join('  ')}${details === '' ? '' : ` ${details}`}`
}

type Told = { readonly node: string; readonly event: Event }

/** Nodes in the order of time; the events of one node keep theirs, as its clock may have been set. */
function byTime(left: Told, right: Told): number {
  if (left.node === right.node) return Number(left.event.sequence - right.event.sequence)
  return (left.event.at?.getTime() ?? 0) - (right.event.at?.getTime() ?? 0)
}
