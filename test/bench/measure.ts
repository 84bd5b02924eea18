/** Samples of one figure, in the unit of the figure. */
export type Samples = readonly number[]

export type Load = { readonly perSecond: number; readonly p50Ms: number; readonly p99Ms: number }

/** Runs `call` for `seconds`, `inFlight` at a time, after a tenth of that as a warm-up; latencies are of single calls. */
export async function load(
  call: () => Promise<unknown>,
  options: { readonly seconds: number; readonly inFlight: number },
): Promise<Load> {
  await during(call, options.seconds / 10, options.inFlight)
  const started = performance.now()
  const latencies = await during(call, options.seconds, options.inFlight)
  const elapsed = (performance.now() - started) / 1000
  return {
    perSecond: latencies.length / elapsed,
    p50Ms: percentile(latencies, 50),
    p99Ms: percentile(latencies, 99),
  }
}

async function during(call: () => Promise<unknown>, seconds: number, inFlight: number): Promise<number[]> {
  const end = performance.now() + seconds * 1000
  const latencies: number[] = []
  const worker = async () => {
    while (performance.now() < end) {
      const started = performance.now()
      await call()
      latencies.push(performance.now() - started)
    }
  }
  await Promise.all(Array.from({ length: inFlight }, worker))
  return latencies
}

export function percentile(samples: Samples, percent: number): number {
  const sorted = [...samples].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN
}

export function median(samples: Samples): number {
  return percentile(samples, 50)
}

export type Row = {
  readonly section: string
  readonly what: string
  readonly value: number
  readonly unit: string
}

/** Collects rows and prints each as it comes, so that a long run shows its progress. */
export class Report {
  readonly rows: Row[] = []
  readonly #print: (line: string) => void

  constructor(print: (line: string) => void) {
    this.#print = print
  }

  add(section: string, what: string, value: number, unit: string): void {
    this.rows.push({ section, what, value, unit })
    this.#print(`${section.padEnd(10)} ${what.padEnd(58)} ${format(value).padStart(10)} ${unit}`)
  }
}

function format(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)
}
