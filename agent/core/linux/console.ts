/**
 * What a person sees who stands before the machine: the node, its addresses, its state, and why it is stuck. There is nothing to type.
 *
 * Invariants: nothing of the configuration but names, and no value that could move the cursor or colour the screen; a console that does not take
 * bytes never makes core wait.
 */
import { closeSync, constants, openSync, writeSync } from 'node:fs'
import type { WatchedNode } from '../ports.ts'
import { REMEDIES } from '../machine/quarantine.ts'
import { inWords, type MachineState } from '../machine/state.ts'

const CONSOLES: readonly string[] = ['/dev/console', '/dev/tty1']
const MAX_LINES = 12
const MAX_WIDTH = 160

export type ConsoleWriter = (text: string) => void

/** Returns a writer to every console that this host has. Each is opened for each text: a console may come and go with its driver. */
export function hostConsole(paths: readonly string[] = CONSOLES): ConsoleWriter {
  return (text) => {
    for (const path of paths) {
      try {
        const descriptor = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
        try {
          writeSync(descriptor, text)
        } finally {
          closeSync(descriptor)
        }
      } catch {
        // No such console, or one that is stopped: the journal has it all.
      }
    }
  }
}

/** Returns what the console says of the node, in whole lines. Pure. */
export function consoleText(node: WatchedNode, options: { readonly version: string }): string {
  const { addresses } = node.machine
  const state = node.state
  const role = node.view === undefined ? '' : `  ${node.view.role}`
  const lines = [
    `Stele ${options.version}  ${node.name}  ${inWords(state)}${role}`,
    addresses.length === 0 ? 'no address yet' : `addresses ${addresses.join(' ')}`,
    ...(state.kind === 'quarantine' ? stuckLines(state) : []),
    ...[...node.findings.values()].map(({ message, remedy }) => `attention: ${message} (${remedy})`),
  ]
  const shown = lines.slice(0, MAX_LINES)
  if (lines.length > shown.length) shown.push(`and ${lines.length - shown.length} more: see the status`)
  return shown.map((line) => `stele: ${printable(line)}\r\n`).join('')
}

function stuckLines({ code, reasons }: Extract<MachineState, { kind: 'quarantine' }>): readonly string[] {
  return [...reasons.map((reason) => `stuck: ${reason}`), `fix: ${REMEDIES[code]}`]
}

/** Printable ASCII alone, of bounded width. */
function printable(text: string): string {
  const plain = text.replace(/[^ -~]+/g, '?')
  return plain.length <= MAX_WIDTH ? plain : `${plain.slice(0, MAX_WIDTH - 3)}...`
}
