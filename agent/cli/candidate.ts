/**
 * What a half-written command line may go on with. Pure: the tree of verbs, the words and the names that are known here go in, candidates come out.
 */
import type { Command, Option } from 'commander'

export type Candidate = { readonly value: string; readonly description?: string }

/** `files` leaves the word to the shell's own completion of paths. */
export type Completion =
  { readonly kind: 'candidates'; readonly all: readonly Candidate[] } | { readonly kind: 'files' }

export type Known = {
  /** Names of the contexts, and of the nodes of the one that the words choose, else of the current one. */
  readonly contexts: readonly string[]
  readonly nodes: readonly string[]
  readonly services: readonly string[]
  /** Names of the clusters of machines on this host. */
  readonly clusters: readonly string[]
}

/** Where the words before the last one lead. */
export type Position = {
  readonly program: Command
  readonly command: Command
  readonly operands: readonly string[]
  /** Values of options so far, by long name without dashes. */
  readonly given: Readonly<Record<string, string>>
  /** The option that the last word is the value of. */
  readonly pending: Option | undefined
}

/** Reads the words before the one that is being written. Never fails: what is not known counts as an operand. */
export function readPosition(program: Command, words: readonly string[]): Position {
  let at: Position = { program, command: program, operands: [], given: {}, pending: undefined }
  for (const word of words) at = step(at, word)
  return at
}

function step(at: Position, word: string): Position {
  const { pending, command, operands, given } = at
  const isOption = word.startsWith('-')
  if (pending !== undefined && (pending.required || !isOption)) {
    return { ...at, given: { ...given, [nameOf(pending)]: word }, pending: undefined }
  }
  if (isOption) return stepOption(at, word)
  const next = operands.length === 0 ? visible(command).find((one) => one.name() === word) : undefined
  return next === undefined
    ? { ...at, operands: [...operands, word], pending: undefined }
    : { ...at, command: next, pending: undefined }
}

function stepOption(at: Position, word: string): Position {
  const { option, value } = readOption(at.command, word)
  if (option === undefined) return { ...at, pending: undefined }
  if (value !== undefined)
    return { ...at, given: { ...at.given, [nameOf(option)]: value }, pending: undefined }
  return { ...at, pending: takesValue(option) ? option : undefined }
}

/** What the last word may become; candidates that do not begin like it are left out. */
export function completeWord(position: Position, word: string, known: Known): Completion {
  if (position.pending !== undefined) return valuesOf(position.pending, word, known)
  const equals = /^(--[^=]+)=(.*)$/s.exec(word)
  if (equals !== null) {
    const { option } = readOption(position.command, equals[1] ?? '')
    return option === undefined ? none() : valuesOf(option, equals[2] ?? '', known)
  }
  if (word.startsWith('-')) return matching(optionCandidates(position.command), word)
  const below = visible(position.command)
  if (below.length > 0) return matching(position.operands.length === 0 ? below.map(ofCommand) : [], word)
  return operandValues(position, word, known)
}

const PATHS = ['file', 'secrets', 'config', 'output-file', 'output-dir', 'image']
const OF_CLUSTERS = ['cluster start', 'cluster show', 'cluster stop', 'cluster destroy']

function valuesOf(option: Option, word: string, known: Known): Completion {
  const name = nameOf(option)
  if (PATHS.includes(name)) return { kind: 'files' }
  if (name === 'nodes') return matching(nodeLists(word, known.nodes), word)
  const values = name === 'context' ? known.contexts : (option.argChoices ?? [])
  return matching(values.map(plain), word)
}

/** `cp-1,` goes on with the nodes that are not in the list yet. */
function nodeLists(word: string, nodes: readonly string[]): readonly Candidate[] {
  const taken = word.split(',').slice(0, -1)
  const before = taken.map((name) => `${name},`).join('')
  return nodes.filter((name) => !taken.includes(name)).map((name) => plain(`${before}${name}`))
}

function operandValues(position: Position, word: string, known: Known): Completion {
  const { command, operands } = position
  const argument = command.registeredArguments[operands.length]
  if (argument === undefined) return none()
  if (argument.name() === 'file') return { kind: 'files' }
  const values = argument.argChoices ?? (operands.length === 0 ? namesFor(position, known) : [])
  return matching(values.map(plain), word)
}

function namesFor({ program, command }: Position, known: Known): readonly string[] {
  const path = pathOf(command)
  if (command.name() === 'help') return visible(program).map((one) => one.name())
  if (path === 'logs') return [...known.services, 'audit']
  if (path === 'service restart') return known.services
  if (OF_CLUSTERS.includes(path)) return known.clusters
  return ['config use', 'config remove', 'config rename'].includes(path) ? known.contexts : []
}

function optionCandidates(command: Command): readonly Candidate[] {
  const options = command.options.filter((option) => !option.hidden && option.long !== undefined)
  const own = options.map((option) => ({ value: option.long ?? '', description: option.description }))
  return [...own, { value: '--help', description: 'show the help' }]
}

function readOption(
  command: Command,
  word: string,
): { option?: Option | undefined; value?: string | undefined } {
  const [flag = '', ...rest] = word.split('=')
  const option = command.options.find((one) => one.long === flag || one.short === flag)
  return { option, value: rest.length === 0 ? undefined : rest.join('=') }
}

function takesValue(option: Option): boolean {
  return option.required || option.optional
}

function nameOf(option: Option): string {
  return (option.long ?? option.short ?? '').replace(/^-+/, '')
}

function visible(command: Command): readonly Command[] {
  return command.createHelp().visibleCommands(command)
}

function pathOf(command: Command): string {
  const names: string[] = []
  for (let at: Command = command; at.parent !== null; at = at.parent) names.unshift(at.name())
  return names.join(' ')
}

function ofCommand(command: Command): Candidate {
  return { value: command.name(), description: command.description() }
}

function plain(value: string): Candidate {
  return { value }
}

function matching(all: readonly Candidate[], word: string): Completion {
  return { kind: 'candidates', all: all.filter(({ value }) => value.startsWith(word)) }
}

function none(): Completion {
  return { kind: 'candidates', all: [] }
}
