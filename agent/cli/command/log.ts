/** `stelectl logs`, `stelectl dmesg` and `stelectl events`. */
import type { Command } from 'commander'
import type { EventServiceWatchResponse } from '#api'
import { isTransient, type ExitCode } from '../failure.ts'
import { withNodes, type Node } from '../nodes.ts'
import { verb, wholeNumber, type Host, type Run } from '../run.ts'
import { followAll } from '../stream.ts'
import { examples } from './help.ts'

type LogOptions = { readonly follow?: boolean; readonly tail?: number; readonly previous?: boolean }
type EventOptions = { readonly follow?: boolean; readonly after?: number; readonly tail?: number }

const MAX_TAIL = 1_000_000

export function addLog(program: Command, host: Host): void {
  const logs = program
    .command('logs')
    .description('print what a service wrote; audit is the record of calls')
    .argument('<service>', 'name of the service, as stelectl services shows it, or audit')
    .option('-f, --follow', 'stay, and print new lines as they come')
    .option('--tail <n>', 'begin with the last lines', wholeNumber(1, MAX_TAIL))
    .option('--previous', 'take the boot before this one')
    .action(verb<LogOptions>(host, printLogs))
  examples(logs, [
    'logs gateway --tail 20',
    'logs core -f --nodes cp-1',
    'logs core --previous',
    'logs audit -o json',
  ])
  const dmesg = program
    .command('dmesg')
    .description('print what the kernel wrote')
    .option('-f, --follow', 'stay, and print new lines as they come')
    .option('--tail <n>', 'begin with the last lines', wholeNumber(1, MAX_TAIL))
    .action(verb<LogOptions>(host, printKernelLog))
  examples(dmesg, ['dmesg --tail 50', 'dmesg -f --nodes worker-1'])
  const events = program
    .command('events')
    .description('print what happened on nodes')
    .option('-f, --follow', 'stay, and print new events as they come')
    .option('--after <n>', 'begin after this sequence number', wholeNumber(0, Number.MAX_SAFE_INTEGER))
    .option('--tail <n>', 'begin with the last events', wholeNumber(1, MAX_TAIL))
    .action(verb<EventOptions>(host, printEvents))
  examples(events, ['events', 'events -f', 'events --after 120 --nodes cp-1 -o json'])
}

async function printLogs(run: Run<LogOptions>): Promise<ExitCode> {
  const request = {
    service: run.operands[0] ?? '',
    follow: run.options.follow === true,
    tailLines: run.options.tail ?? 0,
    previousBoot: run.options.previous === true,
  }
  return printLines(run, (node) => node.client.log.logs(request, { signal: run.signal }))
}

async function printKernelLog(run: Run<LogOptions>): Promise<ExitCode> {
  const request = { follow: run.options.follow === true, tailLines: run.options.tail ?? 0 }
  return printLines(run, (node) => node.client.log.kernelLog(request, { signal: run.signal }))
}

type Lines = { readonly lines: Uint8Array; readonly dropped: bigint }

async function printLines(
  run: Run<LogOptions>,
  open: (node: Node) => AsyncIterable<Lines>,
): Promise<ExitCode> {
  return withNodes(run, async ({ nodes }) => {
    const prefix = (node: Node): string => (nodes.length > 1 ? `${node.name} | ` : '')
    return followAll(run, nodes, open, (node, { lines, dropped }) => {
      if (dropped > 0n)
        run.output.warning(`${node.name} dropped ${dropped} lines, as this reader is too slow`)
      for (const line of splitLines(lines)) {
        run.output.item({ node: node.name, line }, () => `${prefix(node)}${line}`)
      }
    })
  })
}

/** Pure: whole lines without their line feeds; bytes that are no UTF-8 show as U+FFFD. */
export function splitLines(bytes: Uint8Array): readonly string[] {
  const lines = new TextDecoder().decode(bytes).split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}

async function printEvents(run: Run<EventOptions>): Promise<ExitCode> {
  return withNodes(run, async ({ nodes }) =>
    followAll(
      run,
      nodes,
      (node) => eventsOf(run, node),
      (node, { event, missed }) => {
        if (missed > 0n) run.output.warning(`${node.name} no longer keeps ${missed} of these events`)
        if (event === undefined) return
        const at = event.at?.toISOString() ?? '-'
        run.output.item({ ...event, node: node.name }, () =>
          [at, node.name, event.sequence, event.code, event.message].join('  '),
        )
      },
    ),
  )
}

const RESUME_MS = 1000

type Watch = { readonly follow: boolean; afterSequence: bigint; tail: number }

/** The events of one node; a followed stream goes on after the last one seen when the way to the node broke. */
async function* eventsOf(run: Run<EventOptions>, node: Node): AsyncGenerator<EventServiceWatchResponse> {
  const { follow = false, after = 0, tail = 0 } = run.options
  const watch: Watch = { follow, afterSequence: BigInt(after), tail }
  for (;;) {
    try {
      yield* eventsOnce(run, node, watch)
      if (!follow) return
    } catch (error) {
      if (!follow || !isTransient(error)) throw error
    }
    await run.clock.sleep(RESUME_MS, run.signal)
  }
}

/** One connection's worth of events; notes in `watch` where to go on. */
async function* eventsOnce(
  run: Run<EventOptions>,
  node: Node,
  watch: Watch,
): AsyncGenerator<EventServiceWatchResponse> {
  const client = node.connect()
  try {
    for await (const message of client.event.watch({ ...watch }, { signal: run.signal })) {
      watch.afterSequence = message.event?.sequence ?? watch.afterSequence
      watch.tail = 0
      yield message
    }
  } finally {
    client.close()
  }
}
