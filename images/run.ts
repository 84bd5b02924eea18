/**
 * Executes a plan: a step runs when those before it are there, two at a time, and not at all when its output is in the cache.
 */
import type { Cache } from './cache.ts'
import { STEP_NAMES, type Plan, type Step, type StepName } from './plan.ts'
import type { SigningKeys } from './signing-keys.ts'
import type { Run } from './tool.ts'

/** What a step is given. It writes below `out` and nowhere else. */
export type StepContext = {
  readonly step: Step
  readonly out: string
  /** The output folder of a step before this one. */
  readonly input: (name: StepName) => string
  readonly repository: string
  /** Given when images are signed. */
  readonly signingKeys: SigningKeys | undefined
  /** Folder that outlives builds: downloads of compilers and packages, never part of an output. */
  readonly scratch: string
  readonly host: Run
  /** Runs a program of the tools tree; the step must be after `tools`. */
  readonly tree: Run
  /** Runs a program of another tree of tools, by the step that makes it; this step must be after that one. */
  readonly treeOf: (name: StepName) => Run
  readonly signal: AbortSignal
}

export type Executor = (context: StepContext) => Promise<void>

export type StepEvent =
  | { readonly kind: 'started'; readonly step: StepName }
  | { readonly kind: 'cached'; readonly step: StepName }
  | { readonly kind: 'done'; readonly step: StepName; readonly ms: number }
  | { readonly kind: 'failed'; readonly step: StepName; readonly ms: number; readonly error: unknown }

export type RunOptions = {
  readonly executors: Readonly<Record<StepName, Executor>>
  readonly cache: Cache
  /** What a context holds beside the step's own folders. */
  readonly environment: (
    input: (name: StepName) => string,
    signal: AbortSignal,
  ) => Omit<StepContext, 'step' | 'out' | 'input' | 'signal'>
  readonly report: (event: StepEvent) => void
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number
  readonly signal: AbortSignal
}

/** Steps that run at once: more only takes turns on the processors that downloads and compilers already fill. */
const AT_ONCE = 2

/**
 * Runs what is not in the cache. Returns the output folder of each step. Throws what the first failed step threw; no step starts after it, and those
 * that run are let finish, so that their work is there next time.
 */
export async function run(plan: Plan, options: RunOptions): Promise<ReadonlyMap<StepName, string>> {
  const finished = new Map<StepName, string>()
  const waiting = new Set(plan.steps)
  const running = new Map<StepName, Promise<void>>()
  let failure: { readonly error: unknown } | undefined

  const start = (step: Step) => {
    waiting.delete(step)
    const work = perform(step, finished, options)
      .then((path) => void finished.set(step.name, path))
      .catch((error: unknown) => {
        failure ??= { error }
      })
      .finally(() => running.delete(step.name))
    running.set(step.name, work)
  }

  while (waiting.size > 0 || running.size > 0) {
    if (failure === undefined) {
      const ready = [...waiting].filter((step) => step.after.every((name) => finished.has(name)))
      for (const step of ready.slice(0, AT_ONCE - running.size)) start(step)
    }
    if (running.size === 0) break
    await Promise.race(running.values())
  }
  if (failure !== undefined) throw failure.error
  return finished
}

async function perform(
  step: Step,
  finished: ReadonlyMap<StepName, string>,
  options: RunOptions,
): Promise<string> {
  const { cache, report, now, signal } = options
  const path = cache.path(step.name, step.key)
  if (cache.has(step.name, step.key)) {
    report({ kind: 'cached', step: step.name })
  } else {
    signal.throwIfAborted()
    report({ kind: 'started', step: step.name })
    const began = now()
    const input = (name: StepName) => {
      const found = step.after.includes(name) ? finished.get(name) : undefined
      if (found === undefined) throw new Error(`step ${step.name} reads ${name}, which is not before it`)
      return found
    }
    try {
      await cache.fill(step.name, step.key, (out) =>
        options.executors[step.name]({ ...options.environment(input, signal), step, out, input, signal }),
      )
    } catch (error) {
      report({ kind: 'failed', step: step.name, ms: now() - began, error })
      throw error
    }
    report({ kind: 'done', step: step.name, ms: now() - began })
  }
  cache.keep(step.name, step.key)
  return path
}

/** True when `name` is a step. */
export function isStepName(name: string): name is StepName {
  return STEP_NAMES.some((each) => each === name)
}
