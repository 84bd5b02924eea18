/** `stelectl services` and `stelectl service restart`. */
import type { Command } from 'commander'
import type { Service, ServiceState } from '#api'
import { formatDistance } from '../duration.ts'
import { fanOut, report } from '../fan-out.ts'
import type { ExitCode } from '../failure.ts'
import { guard } from '../guard.ts'
import { keyedCall, readCall, withNodes, type Node } from '../nodes.ts'
import { verb, type Host, type Run } from '../run.ts'
import { table } from '../text.ts'
import { examples } from './help.ts'

const STATES: Readonly<Record<ServiceState, string>> = {
  0: 'unknown',
  1: 'starting',
  2: 'running',
  3: 'restarting',
  4: 'stopped',
}

type RestartOptions = { readonly dryRun?: boolean; readonly yes?: boolean }

export function addService(program: Command, host: Host): void {
  const services = program
    .command('services')
    .description('list the services of nodes')
    .action(verb(host, listServices))
  examples(services, ['services', 'services --nodes cp-1 -o json'])
  const restart = program
    .command('service')
    .description('act on one service')
    .command('restart')
    .description('stop a service in order and start it again')
    .argument('<name>', 'name of the service, as stelectl services shows it')
    .option('--dry-run', 'say what would happen and change nothing')
    .option('-y, --yes', 'do it on every node of the context without being asked')
    .action(verb<RestartOptions>(host, restartService))
  examples(restart, ['service restart gateway --nodes worker-1'])
}

async function listServices(run: Run): Promise<ExitCode> {
  return withNodes(run, async ({ nodes }) => {
    const outcomes = await fanOut(nodes, (node) =>
      readCall(run, (call) => node.client.service.list({}, call)),
    )
    return report(run.output, outcomes, {
      data: ({ services }) => ({ services: services.map(serviceData) }),
      text: (answered) =>
        table(
          ['NODE', 'SERVICE', 'STATE', 'PID', 'SINCE', 'RESTARTS', 'LAST EXIT'],
          answered.flatMap(({ node, value }) =>
            value.services.map((service) => serviceRow(node, service, run.clock.now())),
          ),
        ),
    })
  })
}

function serviceRow(node: string, service: Service, now: Date): string[] {
  return [
    node,
    service.name,
    STATES[service.state],
    service.pid === 0 ? '' : String(service.pid),
    service.since === undefined ? '' : formatDistance(service.since, now),
    String(service.restarts),
    service.lastExit,
  ]
}

function serviceData(service: Service): object {
  return { ...service, state: STATES[service.state] }
}

async function restartService(run: Run<RestartOptions>): Promise<ExitCode> {
  const name = run.operands[0] ?? ''
  const isDryRun = run.options.dryRun === true
  return withNodes(run, async (selection) => {
    const call = (node: Node, dryRun: boolean) =>
      keyedCall(run, (options, idempotencyKey) =>
        node.client.service.restart({ name, dryRun, idempotencyKey }, options),
      )
    const asked = { doing: `restart ${name} on`, dryRun: (node: Node) => call(node, true) }
    const refusal = isDryRun ? undefined : await guard(run, selection, asked)
    if (refusal !== undefined) return refusal
    const outcomes = await fanOut(selection.nodes, (node) => call(node, isDryRun))
    return report(run.output, outcomes, {
      data: ({ service, ...rest }) => ({
        dryRun: isDryRun,
        ...rest,
        ...(service === undefined ? {} : { service: serviceData(service) }),
      }),
      text: (answered) =>
        answered.map(({ node }) => `${node} ${isDryRun ? 'would restart' : 'restarts'} ${name}`).join('\n'),
    })
  })
}
