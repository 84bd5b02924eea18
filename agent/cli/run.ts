/** One run of a verb: the options that every verb shares, and what the process gives it. */
import { Option, type Command } from 'commander'
import type { Clock } from '#kit/clock'
import { defaultConfigPath } from './context.ts'
import { parseDuration } from './duration.ts'
import type { ExitCode } from './failure.ts'
import { CliFault } from './fault.ts'
import { FORMATS, type Format, type Output } from './output.ts'

/** What the process gives to every verb; made by `main.ts`, and by tests. */
export type Host = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly output: Output
  readonly signal: AbortSignal
  readonly clock: Clock
  /** Asks a person; undefined when nobody is there to be asked. */
  readonly confirm: ((question: string) => Promise<boolean>) | undefined
  /** Called with the exit code of the verb. */
  readonly settle: (code: ExitCode) => void
}

export type Shared = {
  readonly configPath: string
  readonly context: string | undefined
  /** Names of the context's nodes, or endpoints; undefined means all nodes of the context. */
  readonly nodes: readonly string[] | undefined
  readonly timeoutMs: number | undefined
}

export type Run<Options = Record<never, never>> = Host & {
  readonly shared: Shared
  readonly options: Options
  /** The operands of the command line, in order. */
  readonly operands: readonly string[]
}

type SharedOptions = {
  readonly context?: string
  readonly config?: string
  readonly nodes?: readonly string[]
  readonly output?: Format
  readonly timeout?: number
}

/** Adds the shared options. They stand before or after the verb; the nearest one to the operands wins. */
export function addSharedOptions(command: Command, options: { readonly hidden: boolean }): Command {
  for (const option of sharedOptions()) {
    if (command.options.some((known) => known.long === option.long)) continue
    if (command.options.some((known) => hasShort(known, option))) delete option.short
    command.addOption(options.hidden ? option.hideHelp() : option)
  }
  return command
}

/** Turns a verb's function into a commander action. */
export function verb<Options>(host: Host, act: (run: Run<Options>) => Promise<ExitCode>) {
  return async (...parameters: unknown[]): Promise<void> => {
    const command = parameters.at(-1) as Command // commander passes the command last
    const shared = effectiveShared(command)
    await host.output.use(shared.output ?? 'table')
    const run: Run<Options> = {
      ...host,
      shared: {
        configPath: shared.config ?? defaultConfigPath(host.env),
        context: shared.context,
        nodes: shared.nodes === undefined ? undefined : splitNames(shared.nodes.join(',')),
        timeoutMs: shared.timeout,
      },
      options: command.opts<Options & Record<string, unknown>>(),
      operands: command.args,
    }
    host.settle(await act(run))
  }
}

/** A whole number from `min` to `max` as an option's argument. Throws CliFault `usage`. */
export function wholeNumber(min: number, max: number, hint?: string): (text: string) => number {
  return (text) => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
    if (!(value >= min && value <= max)) {
      throw new CliFault('usage', `${JSON.stringify(text)} is no whole number from ${min} to ${max}`, {
        hint: hint ?? `write digits alone, as in ${Math.max(min, Math.min(20, max))}`,
      })
    }
    return value
  }
}

/** The shared options of a command and its parents, the nearest first; nodes named at each of them are all meant. */
export function effectiveShared(command: Command): SharedOptions {
  let merged: SharedOptions = {}
  for (let at: Command | null = command; at !== null; at = at.parent) {
    const here: SharedOptions = given(at) // commander parsed each of them by the definitions below
    const nodes = [...(here.nodes ?? []), ...(merged.nodes ?? [])]
    merged = { ...here, ...merged, ...(nodes.length === 0 ? {} : { nodes }) }
  }
  return merged
}

function hasShort(known: Option, option: Option): boolean {
  return option.short !== undefined && known.short === option.short
}

const SHARED_NAMES = ['context', 'config', 'nodes', 'output', 'timeout']

function given(command: Command): Record<string, unknown> {
  const names = SHARED_NAMES.filter((name) => command.getOptionValueSource(name) === 'cli')
  return Object.fromEntries(names.map((name) => [name, command.getOptionValue(name) as unknown]))
}

function sharedOptions(): Option[] {
  const group = 'Shared options:'
  return [
    new Option('-c, --context <name>', 'context to use instead of the current one').helpGroup(group),
    new Option('--config <file>', 'file of contexts').helpGroup(group),
    new Option('-n, --nodes <list>', 'names of nodes, or endpoints, with commas between; may be given again')
      .argParser(append)
      .helpGroup(group),
    new Option('-o, --output <format>', 'how to print').choices([...FORMATS]).helpGroup(group),
    new Option('--timeout <duration>', 'how long to wait').argParser(parseDuration).helpGroup(group),
  ]
}

function append(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value]
}

function splitNames(list: string): readonly string[] {
  const names = list
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
  if (names.length === 0)
    throw new CliFault('usage', '--nodes names no node', { hint: '--nodes cp-1,worker-1' })
  return [...new Set(names)]
}
