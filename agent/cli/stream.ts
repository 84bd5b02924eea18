/** The same stream from several nodes, printed as it comes. */
import { reportFailures, fanOut } from './fan-out.ts'
import type { ExitCode } from './failure.ts'
import type { Node } from './nodes.ts'
import type { Run } from './run.ts'

/** Hands every message of every node to `show` until the streams end. Returns the worst exit code; a failed stream does not end the others. */
export async function followAll<T>(
  run: Run<unknown>,
  nodes: readonly Node[],
  open: (node: Node) => AsyncIterable<T>,
  show: (node: Node, message: T) => void,
): Promise<ExitCode> {
  const outcomes = await fanOut(nodes, async (node) => {
    for await (const message of open(node)) show(node, message)
  })
  run.signal.throwIfAborted()
  return reportFailures(run.output, outcomes)
}
