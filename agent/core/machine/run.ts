/** Carries out what `decide` says, one step at a time, for as long as the process lives. */
import type { Clock } from '#kit/clock'
import type { Log } from '#kit/log'
import { backoff } from '#kit/retry'
import type { Change } from '../change.ts'
import { decide, type Snapshot, type Step } from './decide.ts'

type Acting = Exclude<Step, { kind: 'wait' }>

/** One executor for each kind of step. Each may be run again after a crash at any line of it. */
export type Executors = {
  readonly [K in Acting['kind']]: (
    step: Extract<Acting, { kind: K }>,
    signal: AbortSignal,
  ) => Promise<void> | void
}

export type RunOptions = {
  readonly observe: () => Snapshot
  readonly executors: Executors
  /** Tells which step runs now; undefined while waiting. */
  readonly onStep: (step: Acting['kind'] | undefined) => void
  readonly change: Change
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}

const STEP_RETRY = { firstDelayMs: 200, maxDelayMs: 10_000, attempts: Number.POSITIVE_INFINITY }
/** Wall time may jump; nothing is slept through for longer than this. */
const LONGEST_SLEEP_MS = 30_000

/** Runs until the signal aborts. A step that throws is logged and tried again with back-off. */
export async function runMachine(options: RunOptions): Promise<void> {
  let failures = 0
  while (!options.signal.aborted) {
    const seen = options.change.version
    const snapshot = options.observe()
    const step = decide(snapshot)
    if (step.kind === 'wait') {
      options.onStep(undefined)
      await pause(Math.min(LONGEST_SLEEP_MS, Math.max(0, step.until - snapshot.now)), seen, options)
      continue
    }
    options.onStep(step.kind)
    try {
      await execute(step, options)
      failures = 0
    } catch (error) {
      if (options.signal.aborted) return
      options.log.error('step failed', { step: step.kind, error })
      await pause(backoff(failures, STEP_RETRY, Math.random()), options.change.version, options)
      failures += 1
    }
  }
}

async function execute(step: Acting, options: RunOptions): Promise<void> {
  // The mapped type pairs each kind with its own step; the compiler cannot follow that through a lookup.
  const executor = options.executors[step.kind] as (step: Acting, signal: AbortSignal) => Promise<void> | void
  await executor(step, options.signal)
}

/** Returns after `ms` or at the next change, whichever comes first, and at once when the signal aborts. */
async function pause(ms: number, seen: number, options: RunOptions): Promise<void> {
  const stop = new AbortController()
  const signal = AbortSignal.any([options.signal, stop.signal])
  const quiet = () => undefined
  const timer = options.clock.sleep(ms, signal).catch(quiet)
  const change = options.change.beyond(seen, signal).catch(quiet)
  await Promise.race([timer, change])
  stop.abort()
  await Promise.all([timer, change])
}
