/** Text below the options of a verb. */
import type { Command } from 'commander'
import { EXIT_CODES } from '../failure.ts'

export function examples(command: Command, lines: readonly string[]): Command {
  return command.addHelpText(
    'after',
    `\nExamples:\n${lines.map((line) => `  $ stelectl ${line}`).join('\n')}`,
  )
}

export function exitCodeHelp(): string {
  return `\nExit codes:\n${EXIT_CODES.map(([code, meaning]) => `  ${String(code).padEnd(4)} ${meaning}`).join('\n')}`
}
