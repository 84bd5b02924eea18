/** Waiting for a machine to be a node: progress by its console, the end by its answer. */
import { open } from 'node:fs/promises'
import type { Clock } from '#kit/clock'
import { withDeadline } from '#kit/lifetime'
import { formatElapsed } from '../duration.ts'
import { toFailure } from '../failure.ts'
import { CliFault, type CliFaultCode } from '../fault.ts'
import { consoleFile, findMachine, type MachinePlace } from '../machine/detached.ts'
import { readConsole, type ConsoleView, type Phase } from './phase.ts'

export type ReadyOptions<T> = {
  readonly place: MachinePlace
  /** Throws while the node is not ready. */
  readonly ask: (signal: AbortSignal) => Promise<T>
  readonly onPhase: (phase: Phase | 'ready') => void
  readonly deadlineMs: number
  readonly clock: Clock
  readonly signal: AbortSignal
}

const PAUSE_MS = 500
/** A boot prints some 50 KB. */
const CONSOLE_BYTES = 1024 * 1024

/**
 * Returns what `ask` returned first. Throws CliFault `machine_failed` (it went off), `machine_stuck` (quarantine) or `wait_deadline`, each with the
 * last lines of the console and where it is.
 */
export async function untilReady<T>(options: ReadyOptions<T>): Promise<T> {
  const { place, ask, onPhase, clock } = options
  const late = new CliFault('wait_deadline', 'the deadline passed')
  const signal = withDeadline(options.signal, options.deadlineMs, () => late)
  let shown: Phase | undefined
  let obstacle = 'it was not asked yet'
  try {
    for (;;) {
      const view = await viewConsole(place)
      if (view.phase !== shown) onPhase((shown = view.phase))
      if (view.stuck !== undefined) throw failed('machine_stuck', view.stuck, { place, view })
      if (findMachine(place) === undefined) throw failed('machine_failed', 'it is off', { place, view })
      try {
        const answer = await ask(signal)
        onPhase('ready')
        return answer
      } catch (error) {
        signal.throwIfAborted()
        obstacle = toFailure(error).message
      }
      await clock.sleep(PAUSE_MS, signal)
    }
  } catch (error) {
    if (error !== late) throw error
    const why = `not within ${formatElapsed(options.deadlineMs)}: ${obstacle}`
    throw failed('wait_deadline', why, { place, view: await viewConsole(place) })
  } finally {
    signal.dispose()
  }
}

async function viewConsole(place: MachinePlace): Promise<ConsoleView> {
  // The file is not there before the machine is.
  return readConsole(await readEnd(consoleFile(place)).catch(() => ''))
}

/** What a guest prints has no end; the last of it is what counts. */
async function readEnd(file: string): Promise<string> {
  await using handle = await open(file)
  const { size } = await handle.stat()
  const length = Math.min(size, CONSOLE_BYTES)
  const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(length), position: size - length })
  return buffer.toString('utf8', 0, bytesRead)
}

function failed(
  code: CliFaultCode,
  why: string,
  seen: { readonly place: MachinePlace; readonly view: ConsoleView },
): CliFault {
  const { place, view } = seen
  const lines = view.last.length === 0 ? ['nothing'] : view.last
  const told = [
    `it did not get ready: ${why}`,
    'the last lines of its console:',
    ...lines.map((line) => `  ${line}`),
  ]
  return new CliFault(code, told.join('\n'), { hint: `the whole console: ${consoleFile(place)}` })
}
