/** Steps as they run: one line each with its time on any output, and a line of what runs now on a terminal. */
import type { StepEvent } from './run.ts'

export type ProgressSink = { readonly isTTY?: boolean; write(text: string): unknown }

/** Returns what reports events to `sink`. */
export function createProgress(sink: ProgressSink): (event: StepEvent) => void {
  const running = new Set<string>()
  const live = () => {
    if (sink.isTTY === true) sink.write(running.size === 0 ? '' : `\r\x1b[2K${[...running].join(', ')} …\r`)
  }
  const line = (text: string) => sink.write(sink.isTTY === true ? `\r\x1b[2K${text}\n` : `${text}\n`)
  return (event) => {
    switch (event.kind) {
      case 'started':
        running.add(event.step)
        break
      case 'cached':
        line(`${event.step.padEnd(12)} cached`)
        break
      case 'done':
        running.delete(event.step)
        line(`${event.step.padEnd(12)} ${seconds(event.ms)}`)
        break
      case 'failed':
        running.delete(event.step)
        line(`${event.step.padEnd(12)} failed after ${seconds(event.ms)}`)
        break
    }
    live()
  }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
