/** `stelectl render`: what a cloud would hand to each machine of a cluster. */
import { join } from 'node:path'
import type { Command } from 'commander'
import type { ClusterSecrets } from '#pki'
import { printFindings } from '../document.ts'
import { toFailure, type ExitCode } from '../failure.ts'
import { CliFault } from '../fault.ts'
import { readInput, requireNew, writePrivate } from '../file.ts'
import { RefusedManifests, renderText, type RenderedMachine } from '../render.ts'
import { verb, type Host, type Run } from '../run.ts'
import { readSecrets } from '../secrets.ts'
import { examples } from './help.ts'

type Options = {
  readonly file: string
  readonly secrets?: string
  readonly machine?: string
  readonly outputDir?: string
  readonly force?: boolean
}

export function addRender(program: Command, host: Host): void {
  const command = program
    .command('render')
    .description("print the user data of a cluster's machines")
    .requiredOption('-f, --file <file>', 'manifests: Cluster, Machines and SteleConfigs; - for stdin')
    .option('--secrets <file>', 'secrets of the cluster (default: new ones, for this output alone)')
    .option('--machine <name>', 'this machine alone')
    .option('--output-dir <dir>', 'write one file a machine instead of printing')
    .option('--force', 'replace files that exist')
    .action(verb<Options>(host, render))
  examples(command, [
    'render -f bootstrap-provider/examples/cluster.yaml --machine cp-1',
    'render -f cluster.yaml --secrets secrets.yaml --output-dir user-data',
  ])
}

async function render(run: Run<Options>): Promise<ExitCode> {
  const { bytes, label } = await readInput(run.options.file, { signal: run.signal })
  const secrets = await secretsFor(run)
  try {
    const machines = choose(await renderText(bytes.toString('utf8'), label, secrets), run.options.machine)
    if (run.options.outputDir === undefined) print(run, machines)
    else await writeAll(run, run.options.outputDir, machines)
    return 0
  } catch (error) {
    if (!(error instanceof RefusedManifests)) throw error
    return refuse(run, error)
  }
}

/** Tells every problem, then that they refuse the manifests. */
async function refuse(run: Run<Options>, error: RefusedManifests): Promise<ExitCode> {
  await printFindings(run.output, error.findings)
  const failure = toFailure(error)
  run.output.failure(failure)
  return failure.exit
}

async function secretsFor(run: Run<Options>): Promise<ClusterSecrets> {
  if (run.options.secrets !== undefined) return readSecrets(run.options.secrets, run.signal)
  const { createClusterSecrets } = await import('#pki')
  run.output.warning(
    'new authorities and secrets were made for this output alone; keep some with stelectl gen secrets',
  )
  return createClusterSecrets({ now: run.clock.now() })
}

function choose(
  machines: readonly RenderedMachine[],
  wanted: string | undefined,
): readonly RenderedMachine[] {
  if (wanted === undefined) return machines
  const chosen = machines.filter((one) => one.machine === wanted)
  if (chosen.length > 0) return chosen
  throw new CliFault('machine_unknown', `no machine of the manifests is called ${JSON.stringify(wanted)}`, {
    hint: `machines: ${machines.map((one) => one.machine).join(', ')}`,
  })
}

function print(run: Run<Options>, machines: readonly RenderedMachine[]): void {
  if (run.output.format !== 'table') {
    run.output.result(machines, () => '')
    return
  }
  for (const { machine, role, userData } of machines) {
    if (machines.length > 1) run.output.raw(`# machine ${machine}, ${role}\n`)
    run.output.raw(userData.endsWith('\n') ? userData : `${userData}\n`)
  }
}

async function writeAll(
  run: Run<Options>,
  directory: string,
  machines: readonly RenderedMachine[],
): Promise<void> {
  const exclusive = run.options.force !== true
  const written = machines.map(({ machine, role }) => ({
    machine,
    role,
    file: join(directory, `${machine}.yaml`),
  }))
  if (exclusive) await requireNew(written.map((one) => one.file))
  for (const { machine, userData } of machines) {
    await writePrivate(join(directory, `${machine}.yaml`), userData, { exclusive })
  }
  run.output.result(written, () => written.map((one) => `wrote ${one.file}  (${one.role})`).join('\n'))
}
