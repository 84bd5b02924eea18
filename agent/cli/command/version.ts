/** `stelectl version` and `stelectl whoami`: who talks to whom. */
import type { Command } from 'commander'
import { formatDistance } from '../duration.ts'
import { fanOut, report } from '../fan-out.ts'
import type { ExitCode } from '../failure.ts'
import { readCall, withNodes } from '../nodes.ts'
import { clientVersion } from '../client-version.ts'
import { verb, type Host, type Run } from '../run.ts'
import { table } from '../text.ts'
import { shortId } from '../wait.ts'
import { examples } from './help.ts'

type Options = { readonly client?: boolean }

export function addVersion(program: Command, host: Host): void {
  const version = program
    .command('version')
    .description('show the version of stelectl and of the nodes')
    .option('--client', 'show the version of stelectl alone, and ask no node')
    .action(verb<Options>(host, showVersion))
  examples(version, ['version', 'version --client -o json'])
  const whoAmI = program
    .command('whoami')
    .description('show who the nodes take you for, and what you may call')
    .action(verb(host, showIdentity))
  examples(whoAmI, ['whoami', 'whoami --context reader -o yaml'])
}

async function showVersion(run: Run<Options>): Promise<ExitCode> {
  const client = { stelectl: clientVersion(), runtime: process.version }
  const line = `stelectl ${client.stelectl}  (node ${client.runtime})`
  if (run.options.client === true) {
    run.output.result(client, () => line)
    return 0
  }
  if (run.output.format === 'table') run.output.result(client, () => line)
  return withNodes(run, async ({ nodes }) => {
    const outcomes = await fanOut(nodes, (node) =>
      readCall(run, (call) => node.client.system.version({}, call)),
    )
    return report(run.output, outcomes, {
      data: (value) => ({ ...value, client }),
      text: (answered) =>
        table(
          ['NODE', 'VERSION', 'RUNTIME', 'PLATFORM', 'API', 'BOOT'],
          answered.map(({ node, value }) => [
            node,
            value.version,
            value.runtime,
            value.platform,
            value.api,
            shortId(value.bootId),
          ]),
        ),
    })
  })
}

async function showIdentity(run: Run): Promise<ExitCode> {
  return withNodes(run, async ({ nodes }) => {
    const outcomes = await fanOut(nodes, (node) =>
      readCall(run, (call) => node.client.system.whoAmI({}, call)),
    )
    return report(run.output, outcomes, {
      data: (value) => value,
      text: (answered) =>
        table(
          ['NODE', 'NAME', 'ROLES', 'EXPIRES', 'SERIAL', 'SEEN AT'],
          answered.map(({ node, value }) => [
            node,
            value.commonName,
            [...value.roles, ...value.unknownRoles.map((role) => `${role} (unknown)`)].join(' '),
            value.notAfter === undefined ? '' : formatDistance(value.notAfter, run.clock.now()),
            value.serial,
            value.address,
          ]),
        ),
    })
  })
}
