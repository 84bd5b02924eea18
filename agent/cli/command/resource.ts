/** `stelectl resources`: memory, room and time of nodes, for those who would have asked free, df, ps and systemd-analyze. */
import type { Command } from 'commander'
import type { ResourceServiceGetResponse } from '#api'
import { formatBytes } from '../bytes.ts'
import { formatElapsed } from '../duration.ts'
import type { ExitCode } from '../failure.ts'
import { fanOut, report } from '../fan-out.ts'
import { readCall, withNodes } from '../nodes.ts'
import { verb, type Host, type Run } from '../run.ts'
import { table } from '../text.ts'
import { examples } from './help.ts'

const HEAD = ['NODE', 'WHAT', 'USED', 'OF', 'PEAK', 'TIME']

export function addResource(program: Command, host: Host): void {
  const resources = program
    .command('resources')
    .description('show what nodes use: memory, room on STATE, each service, and how long the boot took')
    .action(verb(host, showResources))
  examples(resources, ['resources', 'resources --nodes cp-1 -o json'])
}

async function showResources(run: Run): Promise<ExitCode> {
  return withNodes(run, async ({ nodes }) => {
    const outcomes = await fanOut(nodes, (node) =>
      readCall(run, (call) => node.client.resource.get({}, call)),
    )
    return report(run.output, outcomes, {
      data: resourceData,
      text: (answered) =>
        table(
          HEAD,
          answered.flatMap(({ node, value }) => resourceRows(value).map((row) => [node, ...row])),
        ),
    })
  })
}

/** Rows below `HEAD` without the node. Pure. */
export function resourceRows(answer: ResourceServiceGetResponse): readonly (readonly string[])[] {
  const { memory } = answer
  return [
    ...(memory === undefined ? [] : [roomRow('memory', memory)]),
    ...answer.fileSystems.map((one) => roomRow(one.path, one)),
    ...answer.services.map((service) => [
      service.name,
      // What its control group is charged, as the peak is: pages of the root that it shares count once for all, and so for nobody here.
      bytesText(service.groupBytes ?? service.residentBytes),
      '',
      bytesText(service.groupPeakBytes),
      service.processorTime === undefined ? '' : formatElapsed(milliseconds(service.processorTime)),
    ]),
    ...answer.bootPhases.map(({ name, duration }) => [
      `boot: ${name}`,
      '',
      '',
      '',
      duration === undefined ? '' : formatElapsed(milliseconds(duration)),
    ]),
  ]
}

type Room = { readonly totalBytes: bigint; readonly availableBytes: bigint }

function roomRow(what: string, { totalBytes, availableBytes }: Room): readonly string[] {
  return [what, formatBytes(Number(totalBytes - availableBytes)), formatBytes(Number(totalBytes)), '', '']
}

function bytesText(bytes: bigint | undefined): string {
  return bytes === undefined ? '' : formatBytes(Number(bytes))
}

function resourceData(answer: ResourceServiceGetResponse): object {
  return {
    ...answer,
    services: answer.services.map(({ processorTime, ...service }) => ({
      ...service,
      ...(processorTime === undefined ? {} : { processorMs: milliseconds(processorTime) }),
    })),
    bootPhases: answer.bootPhases.map(({ name, duration }) => ({
      name,
      ms: duration === undefined ? undefined : milliseconds(duration),
    })),
  }
}

function milliseconds({ seconds, nanos }: { readonly seconds: bigint; readonly nanos: number }): number {
  return Number(seconds) * 1000 + Math.round(nanos / 1e6)
}
