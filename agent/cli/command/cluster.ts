/** `stelectl cluster`: clusters of virtual machines on this host, from the image that nodes run. Definitions; the verbs are in the files beside. */
import { Option, type Command } from 'commander'
import { parseDuration } from '../duration.ts'
import { verb, wholeNumber, type Host, type Run } from '../run.ts'
import type { CreateOptions, StartOptions } from './cluster-raise.ts'
import type { DestroyOptions } from './cluster-end.ts'
import { examples } from './help.ts'

type NoOptions = Record<never, never>

const DEFAULT_NAME = 'stele'
const DEFAULT_IMAGE = '.build/image'

export function addCluster(program: Command, host: Host): void {
  const cluster = program.command('cluster').description('run clusters of virtual machines on this host')
  addCreate(cluster, host)
  const start = cluster
    .command('start')
    .description('turn on the machines of a cluster that was made, with their disks as they were left')
    .argument('[name]', 'name of the cluster', DEFAULT_NAME)
  waiting(start).action(verb<StartOptions>(host, async (run) => (await raising()).startCluster(named(run))))
  examples(start, ['cluster start', 'cluster start demo --timeout 20m'])
  const show = cluster
    .command('show')
    .description('show the machines of a cluster, or of all: process, port of the API, console')
    .argument('[name]', 'name of the cluster (default: all)')
    .action(verb<NoOptions>(host, async (run) => (await import('./cluster-show.ts')).showClusters(run)))
  examples(show, ['cluster show', 'cluster show demo -o json'])
  const stop = cluster
    .command('stop')
    .description('shut the nodes of a cluster down by their API; turn the power off when one takes too long')
    .argument('[name]', 'name of the cluster', DEFAULT_NAME)
    .addOption(
      new Option('--timeout <duration>', 'how long a node may take (default: 2m)').argParser(parseDuration),
    )
    .action(verb<NoOptions>(host, async (run) => (await ending()).stopCluster(named(run))))
  examples(stop, ['cluster stop', 'cluster stop demo --timeout 30s'])
  const destroy = cluster
    .command('destroy')
    .description('end the machines of a cluster and remove their disks, its secrets and its context')
    .argument('<name>', 'name of the cluster')
    .option('--dry-run', 'say what would be removed and change nothing')
    .option('-y, --yes', 'do it without being asked')
    .action(verb<DestroyOptions>(host, async (run) => (await ending()).destroyCluster(run)))
  examples(destroy, ['cluster destroy demo', 'cluster destroy demo --dry-run', 'cluster destroy demo --yes'])
}

function addCreate(cluster: Command, host: Host): void {
  const create = cluster
    .command('create')
    .description('make a cluster of machines, wait until its nodes answer, and write a context of its name')
    .argument('[name]', 'name of the cluster', DEFAULT_NAME)
    .addOption(new Option('--provisioner <name>', 'what runs the machines').choices(['qemu']).default('qemu'))
    .addOption(count('--control-planes <number>', 'how many control planes', [1, 9]).default(1))
    .addOption(count('--workers <number>', 'how many workers', [0, 32]).default(1))
    .addOption(count('--memory <MiB>', 'memory of each machine', [512, 1_048_576]).default(2048))
    .addOption(
      count(
        '--disk <GiB>',
        'disk of each machine, of which only what is written takes room',
        [4, 65_536],
      ).default(8),
    )
    .option('--image <folder>', 'folder of the image', DEFAULT_IMAGE)
    .addOption(
      new Option('--boot <way>', 'the whole chain from the firmware on, or the kernel at once')
        .choices(['firmware', 'kernel'])
        .default('firmware'),
    )
    .option('--dry-run', 'say what would be made and make nothing')
  waiting(create).action(
    verb<CreateOptions>(host, async (run) => (await raising()).createCluster(named(run))),
  )
  examples(create, [
    'cluster create demo',
    'cluster create demo --control-planes 3 --workers 2 --boot kernel',
    'cluster create demo --dry-run',
  ])
}

function waiting(command: Command): Command {
  return command
    .addOption(
      new Option('--wait [answer]', 'wait until the nodes are ready')
        .choices(['true', 'false'])
        .default('true'),
    )
    .addOption(new Option('--no-wait', 'the same as --wait false'))
    .addOption(
      new Option('--timeout <duration>', 'how long to wait for the nodes (default: 10m)').argParser(
        parseDuration,
      ),
    )
}

function count(flags: string, description: string, [min, max]: readonly [number, number]): Option {
  return new Option(flags, description).argParser(wholeNumber(min, max))
}

/** The run with the name of the cluster as its operand, also when none was said. */
function named<O>(run: Run<O>): Run<O> {
  return { ...run, operands: [run.operands[0] ?? DEFAULT_NAME] }
}

const raising = () => import('./cluster-raise.ts')
const ending = () => import('./cluster-end.ts')
