/** Turning the machines of a cluster off: in order by their API, by the power when that does not do. */
import type { Clock } from '#kit/clock'
import { withDeadline } from '#kit/lifetime'
import { CliFault } from '../fault.ts'
import { cutPower, findMachine } from '../machine/detached.ts'
import type { Open } from './access.ts'
import type { ClusterFolder } from './folder.ts'
import { findNode, placeOf } from './observe.ts'
import type { ClusterNode } from './record.ts'

export type StopOptions = {
  readonly folder: ClusterFolder
  readonly open: Open
  readonly deadlineMs: number
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** `shut-down`: the node stopped by itself. `powered-off`: it did not in time. `was-off`: there was nothing to do. */
export type Stopped = { readonly how: 'shut-down' | 'powered-off' | 'was-off'; readonly elapsedMs: number }

const CALL_DEADLINE_MS = 10_000
const PAUSE_MS = 250
/** For QEMU to write out what the guest has written. */
const GRACE_MS = 5000

/** Stops one node. Throws CliFault `machine_failed` when its process cannot be ended. */
export async function stopNode(node: ClusterNode, options: StopOptions): Promise<Stopped> {
  const { folder, clock, signal } = options
  const began = clock.monotonic()
  const stopped = (how: Stopped['how']): Stopped => ({
    how,
    elapsedMs: Math.round(clock.monotonic() - began),
  })
  if (findNode(folder, node) === undefined) return stopped('was-off')
  if (await shutDown(node, options)) return stopped('shut-down')
  await cutPower(placeOf(folder, node), { clock, signal, graceMs: GRACE_MS })
  return stopped('powered-off')
}

/** True when the node went off by itself; false when it does not answer, refuses, or takes longer than the deadline. */
async function shutDown(node: ClusterNode, options: StopOptions): Promise<boolean> {
  const { folder, open, clock, deadlineMs } = options
  const late = new CliFault('wait_deadline', 'the node did not go off in time')
  const signal = withDeadline(options.signal, deadlineMs, () => late)
  try {
    await using client = open(node)
    await client.system.shutdown(
      { force: false, dryRun: false, idempotencyKey: crypto.randomUUID() },
      { signal, deadlineMs: Math.min(deadlineMs, CALL_DEADLINE_MS) },
    )
    while (findMachine(placeOf(folder, node)) !== undefined) await clock.sleep(PAUSE_MS, signal)
    return true
  } catch {
    // Whatever stood in the way, the power is what is left; but not when the person left.
    options.signal.throwIfAborted()
    return false
  } finally {
    signal.dispose()
  }
}
