/** The tree of verbs. Definitions only: what a verb needs is loaded when it runs, so that help and completion start fast. */
import { Command, CommanderError } from 'commander'
import { clientVersion } from './client-version.ts'
import { addApply } from './command/apply.ts'
import { addCluster } from './command/cluster.ts'
import { addCompletion } from './command/completion.ts'
import { addContext } from './command/context.ts'
import { addCredential } from './command/credential.ts'
import { addEvent } from './command/event.ts'
import { addGen } from './command/gen.ts'
import { addGet } from './command/get.ts'
import { exitCodeHelp } from './command/help.ts'
import { addIntegrity } from './command/integrity.ts'
import { addLog } from './command/log.ts'
import { addPower } from './command/power.ts'
import { addRender } from './command/render.ts'
import { addResource } from './command/resource.ts'
import { addService } from './command/service.ts'
import { addStatus } from './command/status.ts'
import { addValidate } from './command/validate.ts'
import { addVersion } from './command/version.ts'
import { exitOf, toFailure, type ExitCode, type Failure } from './failure.ts'
import { FORMATS, type Format, type Output } from './output.ts'
import { addSharedOptions, type Host } from './run.ts'

type Group = { readonly title: string; readonly add: readonly ((program: Command, host: Host) => void)[] }

const GROUPS: readonly Group[] = [
  { title: 'Make a cluster:', add: [addGen, addRender, addValidate] },
  {
    title: 'Look:',
    add: [addStatus, addService, addResource, addIntegrity, addLog, addEvent, addGet, addVersion],
  },
  { title: 'Change:', add: [addApply, addPower, addCredential] },
  { title: 'This machine:', add: [addContext, addCluster] },
]

/** Every verb, ready to parse. */
export function buildProgram(host: Host): Command {
  const program = buildVerbs(host)
  addCompletion(program, host)
  shareOptions(program)
  return program
}

function buildVerbs(host: Host): Command {
  const program = new Command('stelectl')
    .description('Talks to Stele nodes: one API over mutual TLS, no shell.')
    .version(clientVersion(), '-V, --version', 'print the version of stelectl')
    .enablePositionalOptions()
    .exitOverride()
    .showSuggestionAfterError()
    .configureOutput({
      writeOut: (text) => host.output.help(text, 'stdout'),
      writeErr: (text) => host.output.help(text, 'stderr'),
      outputError: () => undefined,
    })
    .addHelpText('after', exitCodeHelp())
  for (const { title, add } of GROUPS) {
    program.commandsGroup(title)
    for (const one of add) one(program, host)
  }
  program.commandsGroup('Other:')
  program.addHelpCommand(
    new Command('help').argument('[command]').description('show the help of a verb').helpGroup('Other:'),
  )
  shareOptions(program)
  return program
}

/** Parses and runs. Returns nothing; the exit code goes to `host.settle`, failures to `host.output`. */
export async function runProgram(program: Command, host: Host, words: readonly string[]): Promise<void> {
  try {
    await program.parseAsync(words, { from: 'user' })
  } catch (error) {
    if (host.signal.aborted) {
      host.settle(exitOf(toFailure(host.signal.reason).code))
      return
    }
    if (error instanceof CommanderError)
      host.settle(await settleUsage(program, host.output, { error, words }))
    else host.settle(await fail(program, host.output, toFailure(error)))
  }
}

const SHOWN: readonly string[] = ['commander.helpDisplayed', 'commander.version']

type Misuse = { readonly error: CommanderError; readonly words: readonly string[] }

async function settleUsage(program: Command, output: Output, { error, words }: Misuse): Promise<ExitCode> {
  if (SHOWN.includes(error.code)) return 0
  if (error.code === 'commander.help') return 2
  return fail(program, output, usageFailure(error, verbOf(program, words)))
}

/** Pure: commander's sentence as one of ours. */
export function usageFailure(error: CommanderError, verbName = ''): Failure {
  const text = error.message.replace(/^error: /, '')
  const guess = /\n\((Did you mean .+\?)\)$/s.exec(text)
  const [first = 'the command line is wrong'] = text.split('\n')
  return {
    code: 'usage',
    status: 'USAGE',
    message: first,
    hint: hintOf(text, guess?.[1], verbName),
    exit: 2,
  }
}

function hintOf(text: string, guess: string | undefined, verbName: string): string {
  if (text.includes("'--no-wait'")) return 'say --wait false'
  if (guess !== undefined) return guess.replace(/^D/, 'd')
  return verbName === ''
    ? 'stelectl help shows every verb'
    : `stelectl ${verbName} --help shows what it takes`
}

/** The verb that the words begin, as in `service restart`; empty when they begin none. */
function verbOf(program: Command, words: readonly string[]): string {
  const names: string[] = []
  let at = program
  for (const word of words) {
    const next = at.commands.find((command) => command.name() === word)
    if (next === undefined) continue
    names.push(word)
    at = next
  }
  return names.join(' ')
}

async function fail(program: Command, output: Output, failure: Failure): Promise<ExitCode> {
  await output.use(askedFormat(program) ?? output.format)
  output.failure(failure)
  return failure.exit
}

/** The format that the command line asks for, also when it is wrong somewhere else: the deepest command that has one given. */
function askedFormat(command: Command): Format | undefined {
  const below = command.commands.map(askedFormat).find((format) => format !== undefined)
  if (below !== undefined || command.getOptionValueSource('output') !== 'cli') return below
  return FORMATS.find((format) => format === command.getOptionValue('output'))
}

function shareOptions(command: Command): void {
  const isVerb = command.commands.length === 0
  const isGroup = !isVerb && command.parent !== null
  if (isGroup) command.helpCommand(false)
  addSharedOptions(command, { hidden: isGroup })
  for (const child of command.commands) shareOptions(child)
}
