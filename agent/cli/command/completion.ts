/**
 * `stelectl completion`: a script for the shell, and the hidden verb `complete` that the script asks. Completion never dials a node: contexts and
 * nodes of the chosen one come from the file of contexts, clusters from their folders, names of services are the fixed ones.
 */
import { Argument, type Command } from 'commander'
import { completeWord, readPosition, type Completion } from '../candidate.ts'
import { BASH_SCRIPT } from '../completion-bash.ts'
import { chooseContext, defaultConfigPath, loadOrNone, NO_CONTEXTS, type Contexts } from '../context.ts'
import type { ExitCode } from '../failure.ts'
import { verb, type Host, type Run } from '../run.ts'
import { printable } from '../text.ts'
import { examples } from './help.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const
const SERVICES = ['core', 'gateway', 'trust']

export function addCompletion(program: Command, host: Host): void {
  const completion = program
    .command('completion')
    .description('print a script that completes stelectl in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices([...SHELLS]))
    .action(verb(host, printScript))
  examples(completion, [
    'completion bash > ~/.local/share/bash-completion/completions/stelectl',
    'completion zsh > ~/.zfunc/_stelectl',
    'completion fish > ~/.config/fish/completions/stelectl.fish',
  ])
  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .allowUnknownOption()
    .action(async (words: string[]) => complete(host, program, words))
}

async function printScript(run: Run): Promise<ExitCode> {
  const shell = run.operands[0] as (typeof SHELLS)[number] // commander checked the choice
  if (shell === 'bash') {
    run.output.raw(BASH_SCRIPT)
    return 0
  }
  const { script } = await import('@bomb.sh/tab')
  script(shell, 'stelectl', 'stelectl')
  return 0
}

async function complete(host: Host, program: Command, words: readonly string[]): Promise<void> {
  const position = readPosition(program, words.slice(0, -1))
  const { config, context } = position.given
  const file = await loadOrNone(config ?? defaultConfigPath(host.env)).catch(() => NO_CONTEXTS)
  const completion = completeWord(position, words.at(-1) ?? '', {
    contexts: Object.keys(file.contexts),
    nodes: nodesOf(file, context),
    services: SERVICES,
    clusters: position.command.parent?.name() === 'cluster' ? await clustersOf(host) : [],
  })
  host.output.raw(linesOf(completion))
}

async function clustersOf({ env }: Host): Promise<readonly string[]> {
  const { clustersFolder, listClusters } = await import('../cluster/folder.ts')
  return listClusters(clustersFolder(env))
}

function nodesOf(file: Contexts, wanted: string | undefined): readonly string[] {
  try {
    return chooseContext(file, wanted).context.nodes.map((node) => node.name)
  } catch {
    return []
  }
}

/** What the scripts read: a candidate a line, a tab before its description, and whether the shell may offer paths (0) or not (4). */
function linesOf(completion: Completion): string {
  if (completion.kind === 'files') return ':0\n'
  const lines = completion.all.map(({ value, description = '' }) =>
    description === '' ? printable(value) : `${printable(value)}\t${printable(description)}`,
  )
  return [...lines, ':4', ''].join('\n')
}
