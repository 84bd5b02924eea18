/** `stelectl services` and `stelectl service restart`. */
import { Option, type Command } from 'commander'
import type { RestartResponse, Service, ServiceState } from '#api'
import { formatDistance, parseDuration } from '../duration.ts'
import { fanOut, report } from '../fan-out.ts'
import type { ExitCode } from '../failure.ts'
import { CliFault } from '../fault.ts'
import { guard } from '../guard.ts'
import { keyedCall, readCall, withNodes, type Node } from '../nodes.ts'
import { verb, type Host, type Run } from '../run.ts'
import { table } from '../text.ts'
import { describeRestart, untilInterrupted, waitForService, type RestartProof } from '../wait.ts'
import { examples } from './help.ts'

const STATES: Readonly<Record<ServiceState, string>> = {
  0: 'unknown',
  1: 'starting',
  2: 'running',
  3: 'restarting',
  4: 'stopped',
}

type RestartOptions = { readonly dryRun?: boolean; readonly wait: string; readonly yes?: boolean }

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
    .description('stop a service in order, start it again, and wait for the proof: a new process that runs')
    .argument('<name>', 'name of the service, as stelectl services shows it')
    .option('--dry-run', 'say what would happen and change nothing')
    .addOption(
      new Option('--wait [answer]', 'wait until it runs again').choices(['true', 'false']).default('true'),
    )
    .addOption(
      new Option('--timeout <duration>', 'how long to wait for it (default: 1m)').argParser(parseDuration),
    )
    .option('-y, --yes', 'do it on every node of the context without being asked')
    .action(verb<RestartOptions>(host, restartService))
  examples(restart, [
    'service restart gateway --nodes worker-1',
    'service restart gateway --nodes worker-1 --wait false',
  ])
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

const RESTART_WAIT_MS = 60_000

type Restarted = { readonly answer: RestartResponse; readonly proof: RestartProof | undefined }

async function restartService(run: Run<RestartOptions>): Promise<ExitCode> {
  const name = run.operands[0] ?? ''
  const isDryRun = run.options.dryRun === true
  // `--timeout` is for the waiting; each call keeps its own short deadline.
  const calling = { ...run, shared: { ...run.shared, timeoutMs: undefined } }
  return withNodes(run, async (selection) => {
    const call = (node: Node, dryRun: boolean): Promise<RestartResponse> =>
      keyedCall(calling, (options, idempotencyKey) =>
        node.client.service.restart({ name, dryRun, idempotencyKey }, options),
      )
    const asked = { doing: `restart ${name} on`, dryRun: (node: Node) => call(node, true) }
    const refusal = isDryRun ? undefined : await guard(run, selection, asked)
    if (refusal !== undefined) return refusal
    const progress = run.output.progress()
    const outcomes = await fanOut(selection.nodes, async (node): Promise<Restarted> => {
      if (isDryRun) return { answer: await call(node, true), proof: undefined }
      return untilInterrupted(run.signal, 'restart', async (accept) => {
        const answer = await call(node, false)
        accept()
        if (run.options.wait === 'false') return { answer, proof: undefined }
        return { answer, proof: await awaitService(run, node, answer, progress.update) }
      })
    })
    progress.end()
    return report(run.output, outcomes, {
      data: (restarted) => restartData(restarted, isDryRun),
      text: (answered) =>
        answered
          .map(({ node, value: { proof } }) =>
            proof === undefined
              ? `${node} ${isDryRun ? 'would restart' : 'restarts'} ${name}`
              : describeRestart(node, proof),
          )
          .join('\n'),
    })
  })
}

async function awaitService(
  run: Run<RestartOptions>,
  node: Node,
  answer: RestartResponse,
  onProgress: (text: string) => void,
): Promise<RestartProof> {
  if (answer.service === undefined) throw new CliFault('reply_empty', 'the node answered without the service')
  return waitForService(answer.service, {
    node: node.name,
    connect: node.connect,
    clock: run.clock,
    signal: run.signal,
    deadlineMs: run.shared.timeoutMs ?? RESTART_WAIT_MS,
    operationId: answer.operationId,
    onProgress,
  })
}

function restartData({ answer: { service, ...rest }, proof }: Restarted, dryRun: boolean): object {
  const shown = proof?.after ?? service
  return {
    dryRun,
    ...rest,
    ...(shown === undefined ? {} : { service: serviceData(shown) }),
    ...(proof === undefined ? {} : { oldPid: proof.before.pid, elapsedMs: proof.elapsedMs }),
  }
}
