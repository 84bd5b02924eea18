/** `stelectl get config` and `stelectl get bootsource`. */
import { Option, type Command } from 'commander'
import type { ConfigVersion } from '#api'
import { fanOut, report } from '../fan-out.ts'
import type { ExitCode } from '../failure.ts'
import { readCall, withNodes, type Node } from '../nodes.ts'
import { verb, type Host, type Run } from '../run.ts'
import { table } from '../text.ts'
import { examples } from './help.ts'

type ConfigOptions = { readonly version?: 'staged' | 'previous'; readonly showSecrets?: boolean }

export function addGet(program: Command, host: Host): void {
  const get = program.command('get').description('read the configuration of nodes, or where it came from')
  const config = get
    .command('config')
    .description('print the configuration; secrets are masked')
    .addOption(
      new Option('--version <which>', 'another one than the one in force').choices(['staged', 'previous']),
    )
    .option('--show-secrets', 'print the secrets too; needs role stele:admin')
    .action(verb<ConfigOptions>(host, getConfig))
  examples(config, [
    'get config --nodes cp-1',
    'get config --version staged',
    'get config --nodes cp-1 --show-secrets',
  ])
  const bootSource = get
    .command('bootsource')
    .description('show every source of user data that this boot tried, and its verdict')
    .action(verb(host, getBootSource))
  examples(bootSource, ['get bootsource', 'get bootsource --nodes worker-1 -o yaml'])
}

const VERSIONS = { force: 0, staged: 1, previous: 2 } as const satisfies Record<string, ConfigVersion>

async function getConfig(run: Run<ConfigOptions>): Promise<ExitCode> {
  return withNodes(run, async ({ nodes }) => {
    const outcomes = await fanOut(nodes, (node) => configOf(run, node))
    return report(run.output, outcomes, {
      data: (value) => value,
      text: (answered) =>
        answered
          .map(({ node, value }) => {
            const heading = answered.length > 1 ? `# ${node}, revision ${value.revision}\n` : ''
            return `${heading}${value.document.trimEnd()}`
          })
          .join('\n---\n'),
    })
  })
}

async function configOf(
  run: Run<ConfigOptions>,
  node: Node,
): Promise<{ document: string; revision: bigint }> {
  const version = VERSIONS[run.options.version ?? 'force']
  return readCall(run, async (call) =>
    run.options.showSecrets === true
      ? node.client.config.getSecrets({ version }, call)
      : node.client.config.get({ version }, call),
  )
}

async function getBootSource(run: Run): Promise<ExitCode> {
  return withNodes(run, async ({ nodes }) => {
    const outcomes = await fanOut(nodes, (node) =>
      readCall(run, (call) => node.client.system.getBootSource({}, call)),
    )
    return report(run.output, outcomes, {
      data: (value) => value,
      text: (answered) =>
        table(
          ['NODE', 'KIND', 'LOCATION', 'BYTES', 'LAYERS', 'VERDICT', 'REASON'],
          answered.flatMap(({ node, value }) =>
            value.sources.map((source) => [
              node,
              source.kind,
              source.location,
              String(source.bytes),
              source.layers.join(' '),
              source.verdict,
              source.reasons.join('; '),
            ]),
          ),
        ),
    })
  })
}
