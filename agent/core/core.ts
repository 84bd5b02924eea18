/** Puts core together: STATE, what was interrupted, the doors, the machine. The only place that knows all parts. */
import { agentServices, trustServices } from '#api'
import { nodeDirectory } from '#init'
import type { Clock } from '#kit/clock'
import { Lifetime } from '#kit/lifetime'
import type { Log } from '#kit/log'
import { retry } from '#kit/retry'
import { RpcFault } from '#rpc'
import { assertComplete } from './authorization.ts'
import { compareUserData } from './boot/compare-user-data.ts'
import { createExecutors } from './boot/executors.ts'
import { resumeOperations } from './boot/resume.ts'
import { watchServices } from './boot/watch-services.ts'
import type { CoreFlags } from './flags.ts'
import { readIdentity } from './identity/held.ts'
import { linuxPlatform } from './linux/platform.ts'
import { localPorts } from './local/ports.ts'
import { observe } from './machine/observe.ts'
import { runMachine } from './machine/run.ts'
import { Node } from './node.ts'
import type { PeerCheck } from './peer.ts'
import type { BootInfo, Platform, Ports } from './ports.ts'
import { Power } from './power.ts'
import { agentDoor, trustDoor } from './serve.ts'
import { openDoor } from './server.ts'
import { openState, type State } from './state.ts'
import { diskFileSystem, stateFileSystem } from './store/file-system.ts'

export type CoreOptions = {
  readonly flags: CoreFlags
  readonly version: string
  readonly peer: PeerCheck
  readonly clock: Clock
  readonly log: Log
  /** Aborts when core is to stop. */
  readonly signal: AbortSignal
}

/**
 * Starts core and returns when both doors are open; the machine goes on in the background. Closing the result ends calls, streams and the
 * machine within five seconds. Throws CoreFault when core must not start.
 */
export async function startCore(options: CoreOptions): Promise<AsyncDisposable> {
  const { flags, clock, log, signal } = options
  assertComplete({ agent: pathsOf(agentServices), trust: pathsOf(trustServices) })
  const platform = await platformOf(options)
  const { ports, paths, machine } = platform
  const boot = await bootOf(ports, options)
  const state = openState({ directory: paths.state, files: stateFileSystem, clock, log, boot })
  const { committed, configuration, events } = state
  const loss = platform.loss?.code ?? state.loss
  const node = new Node({
    machine,
    boot,
    ports,
    clock,
    log,
    events,
    configuration,
    committed,
    loss,
    ...(platform.loss ? { lossReason: platform.loss.reason } : {}),
  })
  const key = await state.identities.key()
  const stored = state.identities.certificate(key)
  if (stored !== undefined)
    node.setIdentity(readIdentity(stored, { now: clock.now(), jitter: Math.random() }))

  report(node, state)

  const lifetime = new Lifetime()
  const stop = new AbortController()
  const running = AbortSignal.any([signal, stop.signal])
  const power = new Power(node, { signal: running })
  const streams = new AbortController()
  const parts = { node, state, power, version: options.version, stopping: streams.signal }
  lifetime.onClose(() => state.audit.close())
  const doors = [
    { path: paths.coreGatewaySocket, uid: flags.peerUids.gateway, services: agentDoor(parts) },
    { path: paths.coreTrustSocket, uid: flags.peerUids.trust, services: trustDoor(parts) },
  ]
  for (const door of doors) lifetime.use(await openDoor({ ...door, peer: options.peer, log }))
  platform.shareSockets()
  // Closed before the doors: a stream would hold its door open for as long as its client likes.
  lifetime.onClose(() =>
    streams.abort(new RpcFault('unavailable', 'node_stopping', 'the node stops, or core is restarted')),
  )

  resumeOperations(node, state.operations, power)
  const executors = createExecutors({
    node,
    key,
    identities: state.identities,
    book: state.book,
    files: platform.sharedFiles,
    bootRecord: state.boots,
    paths,
  })
  const tasks = [
    runMachine({
      observe: () => observe(node),
      executors,
      onStep: (step) => node.setStep(step),
      change: node.change,
      clock,
      log,
      signal: running,
    }),
    watchServices(node, { signal: running }),
    platform.watch(node, { signal: running }),
    ...(committed.kind === 'none' || loss !== undefined
      ? []
      : [compareUserData(node, state.boots, { signal: running })]),
  ].map((task) =>
    task.catch((error: unknown) => {
      if (!running.aborted) log.error('background task failed', { error })
    }),
  )
  lifetime.onClose(async () => {
    stop.abort(new Error('core stops'))
    await Promise.all(tasks)
  })
  return lifetime
}

async function platformOf(options: CoreOptions): Promise<Platform> {
  const { flags, version, clock, log, signal } = options
  const files = diskFileSystem
  if (flags.linux !== undefined)
    return linuxPlatform({ ...flags, ...flags.linux, version, files, clock, log, signal })
  return {
    ports: localPorts({ directory: flags.directory, userData: flags.userData, files, clock }),
    paths: nodeDirectory(flags.directory),
    loss: undefined,
    machine: { name: flags.name, addresses: flags.addresses },
    sharedFiles: files,
    shareSockets: () => undefined,
    watch: async () => undefined,
  }
}

/** The boot id is init's or the kernel's to give; without it nothing can be proven to a client, so core waits for it. */
async function bootOf(ports: Ports, options: CoreOptions): Promise<BootInfo> {
  const { clock, signal, log } = options
  return retry(() => ports.boot.current({ signal }), {
    firstDelayMs: 50,
    maxDelayMs: 2_000,
    attempts: Number.POSITIVE_INFINITY,
    clock,
    signal,
    isRetryable: () => true,
    onRetry: (error, retryInMs) => log.warn('waiting for the boot id', { retryInMs, error }),
  })
}

function report(node: Node, state: State): void {
  const { recovered } = state
  if (recovered.length > 0) node.log.info('state recovered', { recovered })
  if (recovered.includes('trial')) {
    node.events.emit({
      code: 'config.reverted',
      message: 'A trial was interrupted and the configuration before it is in force.',
    })
  }
  if (recovered.includes('staged'))
    node.events.emit({ code: 'config.applied', message: 'The staged configuration is in force.' })
  const damaged = state.damaged()
  if (damaged.length > 0 || state.book.damaged) {
    const places = damaged.length > 0 ? damaged.join(', ') : 'the book of enrolments is gone'
    node.setFinding('state_damaged', {
      message: `damaged on STATE: ${places}; an older copy is used where there is one`,
      remedy: 'look at the configuration and the join credentials, and at the health of the disk',
    })
  }
}

function pathsOf(
  services: Readonly<Record<string, Readonly<Record<string, { readonly path: string }>>>>,
): readonly string[] {
  return Object.values(services).flatMap((service) => Object.values(service).map((method) => method.path))
}
