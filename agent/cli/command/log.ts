/** `stelectl logs` and `stelectl dmesg`. */
import type { Command } from 'commander'
import type { ExitCode } from '../failure.ts'
import { follow } from '../follow.ts'
import { formatLine, parseEntry, Seen } from '../log-line.ts'
import { withNodes, type AgentClient, type Node } from '../nodes.ts'
import { verb, wholeNumber, type Host, type Run } from '../run.ts'
import { followAll } from '../stream.ts'
import { examples } from './help.ts'

type LogOptions = { readonly follow?: boolean; readonly tail?: number; readonly previous?: boolean }

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
}

async function printLogs(run: Run<LogOptions>): Promise<ExitCode> {
  const request = {
    service: run.operands[0] ?? '',
    follow: run.options.follow === true,
    previousBoot: run.options.previous === true,
  }
  return printLines(run, (client, tailLines) =>
    client.log.logs({ ...request, tailLines }, { signal: run.signal }),
  )
}

async function printKernelLog(run: Run<LogOptions>): Promise<ExitCode> {
  const request = { follow: run.options.follow === true }
  return printLines(run, (client, tailLines) =>
    client.log.kernelLog({ ...request, tailLines }, { signal: run.signal }),
  )
}

type Lines = { readonly lines: Uint8Array; readonly dropped: bigint }
type Open = (client: AgentClient, tailLines: number) => AsyncIterable<Lines>

async function printLines(run: Run<LogOptions>, open: Open): Promise<ExitCode> {
  return withNodes(run, async ({ nodes }) => {
    const prefix = (node: Node): string => (nodes.length > 1 ? `${node.name} | ` : '')
    const source = (node: Node): AsyncIterable<Told> =>
      run.options.follow === true ? followed(run, node, open) : told(open(node.client, run.options.tail ?? 0))
    return followAll(run, nodes, source, (node, { lines, dropped }) => {
      if (dropped > 0n)
        run.output.warning(`${node.name} dropped ${dropped} lines, as this reader is too slow`)
      for (const line of lines) {
        run.output.item(lineData(node.name, line), () => `${prefix(node)}${formatLine(line)}`)
      }
    })
  })
}

type Told = { readonly lines: readonly string[]; readonly dropped: bigint }

async function* told(messages: AsyncIterable<Lines>): AsyncGenerator<Told> {
  for await (const { lines, dropped } of messages) yield { lines: splitLines(lines), dropped }
}

/** After an outage the log is read again, as the node may have begun a new one, and what was shown is left out. */
function followed(run: Run<LogOptions>, node: Node, open: Open): AsyncIterable<Told> {
  const seen = new Seen()
  return follow(run, node, {
    atEnd: 'stop',
    open: async function* (client) {
      for await (const { lines, dropped } of told(open(client, seen.isEmpty ? (run.options.tail ?? 0) : 0))) {
        yield { lines: lines.filter((line) => seen.take(line)), dropped }
      }
    },
  })
}

/** Pure: a line as programs read it, parsed where it is one of ours. */
export function lineData(node: string, line: string): object {
  const entry = parseEntry(line)
  return entry === undefined ? { node, line } : { node, entry }
}

/** Pure: whole lines without their line feeds; bytes that are no UTF-8 show as U+FFFD. */
export function splitLines(bytes: Uint8Array): readonly string[] {
  const lines = new TextDecoder().decode(bytes).split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}
