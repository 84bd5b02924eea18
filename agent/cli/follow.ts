/** A followed stream that outlives outages of its node: told once when the way breaks, and once when it is whole again. */
import { toFailure } from './failure.ts'
import type { AgentClient, Node } from './nodes.ts'
import { describePlace } from './output.ts'
import type { Run } from './run.ts'

const RESUME_MS = 1000
const PROBE_MS = 3000

export type Following<T> = {
  /** Opens the stream, from where it broke. */
  readonly open: (client: AgentClient) => AsyncIterable<T>
  /** What to do when the node ends the stream in order. */
  readonly atEnd: 'stop' | 'resume'
}

/** The messages of the stream until it ends in order, the node refuses it, or the signal aborts. A connection of its own for each try. */
export async function* follow<T>(run: Run<unknown>, node: Node, following: Following<T>): AsyncGenerator<T> {
  let isAway = false
  for (;;) {
    const client = node.connect()
    try {
      if (isAway) await client.system.version({}, { signal: run.signal, deadlineMs: PROBE_MS })
      if (isAway) run.output.note(`${place(node)} back`)
      isAway = false
      yield* following.open(client)
      if (following.atEnd === 'stop') return
    } catch (error) {
      await requireOutage(run, node, error)
      if (!isAway) run.output.warning(`${place(node)} unreachable, trying again`)
      isAway = true
    } finally {
      client.close()
    }
    await run.clock.sleep(RESUME_MS, run.signal)
  }
}

/** Throws the error, or a clearer one, unless the same try may go well a moment later. */
async function requireOutage(run: Run<unknown>, node: Node, error: unknown): Promise<void> {
  run.signal.throwIfAborted()
  const explained = await node.explain(error)
  if (toFailure(explained).exit !== 5) throw explained
}

function place(node: Node): string {
  return describePlace({ node: node.name, address: node.address })
}
