/**
 * Waiting for what a call set in motion. Progress comes from the event stream, the end from proof alone: a new boot id, a revision in force. The
 * connection may drop as often as it likes meanwhile; only a refusal of our certificate or role, or the deadline, ends the waiting early.
 */
import type { Event, MachineState, Service, ServiceState, VersionResponse } from '#api'
import type { Clock } from '#kit/clock'
import { withDeadline } from '#kit/lifetime'
import { formatElapsed } from './duration.ts'
import { toFailure } from './failure.ts'
import { CliFault } from './fault.ts'
import type { AgentClient } from './nodes.ts'

/** How long reboot and apply wait unless they are told otherwise. */
export const WAIT_MS = 5 * 60_000

export type WaitOptions = {
  readonly node: string
  readonly connect: () => AgentClient
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly deadlineMs: number
  /** The operation whose events are shown as progress. */
  readonly operationId: string
  readonly onProgress: (text: string) => void
}

export type RebootProof = {
  readonly oldBootId: string
  readonly newBootId: string
  readonly elapsedMs: number
}

/** Waits until Version answers another boot id and the machine is past its boot sequence. Throws CliFault `wait_deadline`, or the refusal. */
export async function waitForReboot(oldBootId: string, options: WaitOptions): Promise<RebootProof> {
  const started = options.clock.monotonic()
  const newBootId = await untilProof(options, `still boot ${shortId(oldBootId)}`, async (client, call) => {
    const version: VersionResponse = await client.system.version({}, call)
    if (version.bootId === oldBootId) return undefined
    const { status } = await client.system.getStatus({}, call)
    return status === undefined || status.state === BOOTING ? undefined : version.bootId
  })
  return { oldBootId, newBootId, elapsedMs: options.clock.monotonic() - started }
}

/** Waits until the revision is in force, or staged. Throws CliFault `wait_deadline`, or the refusal. */
export async function waitForRevision(
  wanted: { readonly revision: bigint; readonly staged: boolean },
  options: WaitOptions,
): Promise<void> {
  await untilProof(options, `revision ${wanted.revision} is not there`, async (client, call) => {
    const { status } = await client.system.getStatus({}, call)
    const seen = wanted.staged ? status?.stagedRevision : status?.configRevision
    return seen === wanted.revision ? true : undefined
  })
}

export type RestartProof = { readonly before: Service; readonly after: Service; readonly elapsedMs: number }

/** Waits until the service runs in another process than `before`. Throws CliFault `wait_deadline`, or the refusal. */
export async function waitForService(before: Service, options: WaitOptions): Promise<RestartProof> {
  const started = options.clock.monotonic()
  const after = await untilProof(options, `${before.name} does not run anew`, async (client, call) => {
    const { services } = await client.service.list({}, call)
    return services.find((one) => one.name === before.name && isRunningAnew(before, one))
  })
  return { before, after, elapsedMs: options.clock.monotonic() - started }
}

/** A new process id; where that came round again, a later begin. */
function isRunningAnew(before: Service, now: Service): boolean {
  if (now.state !== RUNNING) return false
  return now.pid !== before.pid || (now.since?.getTime() ?? 0) > (before.since?.getTime() ?? Infinity)
}

/** `worker-1 restarted gateway  pid 41 → 57  in 0.8 s` */
export function describeRestart(node: string, { before, after, elapsedMs }: RestartProof): string {
  const pids = `pid ${before.pid === 0 ? 'none' : before.pid} → ${after.pid}`
  return `${node} restarted ${after.name}  ${pids}  in ${formatElapsed(elapsedMs)}`
}

/** Says how far it came when the person leaves: whether the node had accepted what it was asked for. Other errors pass as they are. */
export async function untilInterrupted<T>(
  signal: AbortSignal,
  what: string,
  act: (accept: () => void) => Promise<T>,
): Promise<T> {
  let isAccepted = false
  try {
    return await act(() => (isAccepted = true))
  } catch (error) {
    if (!signal.aborted) throw error
    const state = isAccepted
      ? `the ${what} had been accepted and goes on`
      : `it is not known whether the ${what} was accepted`
    throw new CliFault('interrupted', `interrupted; ${state}`, { hint: 'stelectl status -w', cause: error })
  }
}

/** `worker-1 rebooted  boot 1b2c0f5e… → 9f3e77aa…  in 1.8 s` */
export function describeReboot(node: string, proof: RebootProof): string {
  const boots = `boot ${shortId(proof.oldBootId)} → ${shortId(proof.newBootId)}`
  return `${node} rebooted  ${boots}  in ${formatElapsed(proof.elapsedMs)}`
}

export function shortId(id: string): string {
  return id.length > 8 ? `${id.slice(0, 8)}…` : id
}

type Call = { readonly signal: AbortSignal; readonly deadlineMs: number }
type Probe<T> = (client: AgentClient, call: Call) => Promise<T | undefined>

const PROBE_DEADLINE_MS = 3000
const PAUSE_MS = 200
const RECENT_EVENTS = 16
const BOOTING: MachineState.BOOTING = 1
const RUNNING: ServiceState.RUNNING = 2

async function untilProof<T>(options: WaitOptions, missing: string, probe: Probe<T>): Promise<T> {
  const signal = withDeadline(options.signal, options.deadlineMs, () => overdue(options, missing))
  const watching = new AbortController()
  const events = showEvents(options, AbortSignal.any([signal, watching.signal]))
  try {
    for (;;) {
      const proof = await probeOnce(options, signal, probe)
      if (proof !== undefined) return proof
      await options.clock.sleep(PAUSE_MS, signal)
    }
  } finally {
    watching.abort()
    await events
    signal.dispose()
  }
}

// A connection of its own for each probe: one that lived through the restart would sit out its back-off.
async function probeOnce<T>(
  options: WaitOptions,
  signal: AbortSignal,
  probe: Probe<T>,
): Promise<T | undefined> {
  const client = options.connect()
  try {
    return await probe(client, { signal, deadlineMs: PROBE_DEADLINE_MS })
  } catch (error) {
    signal.throwIfAborted()
    if (!mayPass(error)) throw error
    return undefined
  } finally {
    client.close()
  }
}

/** Shows events of the operation until the signal aborts; never rejects, since events are a comfort and no proof. */
async function showEvents(options: WaitOptions, signal: AbortSignal): Promise<void> {
  const show = (event: Event): void => {
    if (event.operationId === options.operationId) options.onProgress(`${options.node}  ${event.message}`)
  }
  let seen = 0n
  while (!signal.aborted) {
    const client = options.connect()
    try {
      for await (const event of eventsAfter(client, seen, signal)) {
        seen = event.sequence
        show(event)
      }
    } catch (error) {
      if (!mayPass(error)) return
    } finally {
      client.close()
    }
    await options.clock.sleep(PAUSE_MS, signal).catch(() => undefined)
  }
}

/** The first time from a little before now, as the operation has begun already; after that from where the stream broke. */
async function* eventsAfter(client: AgentClient, seen: bigint, signal: AbortSignal): AsyncGenerator<Event> {
  const request = { afterSequence: seen, tail: seen === 0n ? RECENT_EVENTS : 0, follow: true }
  for await (const { event } of client.event.watch(request, { signal })) {
    if (event !== undefined) yield event
  }
}

/** Everything but a refusal of who we are may be over a moment later. */
function mayPass(error: unknown): boolean {
  const { exit } = toFailure(error)
  return exit !== 3 && exit !== 4
}

function overdue(options: WaitOptions, missing: string): CliFault {
  return new CliFault(
    'wait_deadline',
    `did not get there within ${formatElapsed(options.deadlineMs)}: ${missing}`,
    { hint: 'it may still do so: look with stelectl status -w; wait longer with --timeout' },
  )
}
