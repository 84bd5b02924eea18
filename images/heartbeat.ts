/** Where no terminal shows what runs, a line each ten seconds does: a log that is silent for minutes looks like a build that hangs. */
import type { StepEvent } from './run.ts'

const EVERY_MS = 10_000

export type Heartbeat = Disposable & { readonly report: (event: StepEvent) => void }

/** Wraps what reports events; steps that still run are written with their times until it is closed. */
export function startHeartbeat(
  report: (event: StepEvent) => void,
  options: {
    readonly write: (line: string) => void
    /** Milliseconds of a clock that never goes back. */
    readonly now: () => number
  },
): Heartbeat {
  const running = new Map<string, number>()
  const beat = () => {
    if (running.size === 0) return
    const parts = [...running].map(([step, began]) => `${step} ${seconds(options.now() - began)}`)
    options.write(`…            ${parts.join(', ')}\n`)
  }
  const timer = setInterval(beat, EVERY_MS)
  return {
    report(event) {
      if (event.kind === 'started') running.set(event.step, options.now())
      else running.delete(event.step)
      report(event)
    },
    [Symbol.dispose]: () => clearInterval(timer),
  }
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`
}
