/**
 * `stelectl completion`: a script for the shell, and the hidden verb `complete` that the script asks. Completion never dials a node: contexts and
 * nodes come from the file of contexts, names of services are the fixed ones.
 */
import { Argument, type Command } from 'commander'
import { loadOrNone, NO_CONTEXTS } from '../context.ts'
import type { ExitCode } from '../failure.ts'
import { effectiveShared, verb, type Host, type Run } from '../run.ts'
import { defaultConfigPath } from '../context.ts'
import { examples } from './help.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const
const SERVICES = ['core', 'gateway', 'trust', 'audit']

type Complete = (value: string, description: string) => void

/** `rebuild` makes a second tree of verbs for the completion library to walk. */
export function addCompletion(program: Command, host: Host, rebuild: () => Command): void {
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
    .action(async (words: string[]) => complete(host, rebuild(), words))
}

async function printScript(run: Run): Promise<ExitCode> {
  const { script } = await import('@bomb.sh/tab')
  script(run.operands[0] as (typeof SHELLS)[number], 'stelectl', 'stelectl') // commander checked the choice
  return 0
}

async function complete(host: Host, program: Command, words: readonly string[]): Promise<void> {
  const { default: adapt } = await import('@bomb.sh/tab/commander')
  const root = adapt(program)
  const shared = effectiveShared(program)
  const file = await loadOrNone(shared.config ?? defaultConfigPath(host.env)).catch(() => NO_CONTEXTS)
  const contexts = Object.keys(file.contexts)
  const nodes = Object.values(file.contexts).flatMap((context) => context.nodes.map((node) => node.name))
  const offer =
    (values: readonly string[]) =>
    (add: Complete): void => {
      for (const value of values) add(value, '')
    }
  for (const command of [root, ...root.commands.values()]) {
    const byName = new Map([
      ['context', contexts],
      ['nodes', nodes],
    ])
    for (const [name, values] of byName) {
      const option = command.options.get(name)
      if (option !== undefined) option.handler = offer(values)
    }
  }
  root.commands.get('logs')?.argument('service', offer(SERVICES))
  root.commands.get('service restart')?.argument('name', offer(SERVICES))
  root.commands.get('config use')?.argument('name', offer(contexts))
  root.parse([...words])
}
