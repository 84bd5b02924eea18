/**
 * `npm start`: a control plane and a worker on this machine, from manifests to an authorized reboot. `--once` plays the story and exits, for CI.
 */
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Command } from 'commander'
import { Lifetime } from '#kit/lifetime'
import { watchStatus } from './cluster/stelectl.ts'
import {
  proveAuthorization,
  raiseCluster,
  stelectlOf,
  type Stage,
  type StoryOptions,
} from './cluster/story.ts'
import { chooseContextFile } from './cluster/demo-contexts.ts'
import { defaultConfigPath } from './context.ts'
import { exitCodeOf, printError } from './output.ts'

/** The folder of package.json, above this file and above its bundle alike. */
const root = findRoot(import.meta.dirname)

type Flags = { readonly once?: true; readonly manifests: string; readonly directory?: string }

const stage: Stage = {
  say: (who, what, proof) => void process.stdout.write(`${who.padEnd(9)} ${what.padEnd(42)} ${proof}\n`),
  show: (command, output) => void process.stdout.write(`$ ${command}\n${output}\n`),
}

async function main(flags: Flags, signal: AbortSignal): Promise<void> {
  await using lifetime = new Lifetime()
  const directory = flags.directory ?? (await mkdtemp(join(tmpdir(), 'stele-')))
  if (flags.directory === undefined)
    lifetime.onClose(async () => rm(directory, { recursive: true, force: true }))
  const own = join(directory, 'contexts.yaml')
  // A run for CI leaves the person's contexts alone.
  const config = flags.once ? own : await chooseContextFile(defaultConfigPath(process.env), own)
  const options: StoryOptions = {
    manifests: flags.manifests,
    directory,
    bundles: join(root, '.build'),
    config,
    stage,
    signal,
  }
  const story = lifetime.use(await raiseCluster(options))
  await proveAuthorization(options, story.cluster.nodes)
  if (flags.once) return
  const worker = story.cluster.nodes.at(-1)?.name ?? ''
  const stelectl = config === own ? `npx stelectl --config ${own}` : 'npx stelectl'
  if (config === own) process.stdout.write('\nYour own contexts demo and reader stay as they are.')
  process.stdout.write(
    `\nBoth nodes stay up until Ctrl-C. Try, in another terminal:\n` +
      `  ${stelectl} --context demo events --follow\n` +
      `  ${stelectl} --context demo reboot --nodes ${worker}\n` +
      `  ${stelectl} --context reader get config --nodes ${worker}\n\n`,
  )
  await watchStatus('demo', { program: stelectlOf(options), config, signal })
  process.stdout.write('\nstopping the nodes\n')
}

function findRoot(folder: string): string {
  if (existsSync(join(folder, 'package.json'))) return folder
  const above = dirname(folder)
  if (above === folder) throw new Error('there is no package.json above this file')
  return findRoot(above)
}

const program = new Command('npm start --')
  .description('Raises a control plane and a worker on this machine and plays the first session with them.')
  .option('--once', 'play the session, stop everything and exit: for CI')
  .option(
    '--manifests <file>',
    'manifests of the cluster',
    join(root, 'bootstrap-provider/examples/cluster.yaml'),
  )
  .option('--directory <dir>', 'keep the state of the nodes here instead of in a temporary folder')
  .parse()

const controller = new AbortController()
const stop = () => controller.abort(new DOMException('interrupted', 'AbortError'))
process.once('SIGINT', stop)
process.once('SIGTERM', stop)
try {
  await main(program.opts<Flags>(), controller.signal)
} catch (error) {
  if (controller.signal.aborted) process.exitCode = 130
  else {
    printError(error)
    process.exitCode = exitCodeOf(error)
  }
}
