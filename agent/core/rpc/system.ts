import {
  API_PACKAGE,
  RebootMode,
  SystemServiceService,
  type NodeStatus,
  type RebootRequest,
  type RebootResponse,
  type ShutdownResponse,
} from '#api'
import type { Handlers } from '#rpc'
import { methodsFor } from '../authorization.ts'
import type { Node } from '../node.ts'
import type { Operations } from '../operation.ts'
import type { Power } from '../power.ts'
import { statusOf } from '../status.ts'
import { operationCall, requireKnown, requireUp, type AgentContext } from './context.ts'

export type SystemOptions = {
  readonly node: Node
  readonly operations: Operations
  readonly power: Power
  readonly version: string
}

/** At most four statuses a second. */
const WATCH_INTERVAL_MS = 250
/** Services change without telling core; a watcher sees it after this long at the latest. */
const SERVICE_POLL_MS = 1_000

const ORDERLY = ['stop trust', 'stop gateway', 'stop core']
const FORCED = ['kill trust, gateway and core']

export function systemHandlers(options: SystemOptions): Handlers<typeof SystemServiceService, AgentContext> {
  const { node, power } = options
  return {
    version: async () => ({
      version: options.version,
      runtime: process.version,
      api: API_PACKAGE,
      node: node.name,
      bootId: node.boot.bootId,
      platform: node.ports.platform,
    }),
    whoAmI: async (_request, { identity }) => ({
      commonName: identity.commonName,
      roles: [...identity.roles],
      unknownRoles: [...identity.unknownRoles],
      serial: identity.serial,
      notAfter: identity.notAfter,
      address: identity.address,
      methods: [...methodsFor(identity.roles)],
    }),
    getStatus: async (_request, { signal }) => ({ status: await currentStatus(node, signal) }),
    watchStatus: (_request, { signal }) => watchStatus(node, signal),
    getBootSource: async () => ({
      sources: node.sources.map((source) => ({
        ...source,
        bytes: BigInt(source.bytes),
        layers: [...source.layers],
        reasons: [...source.reasons],
      })),
    }),
    reboot: async (request, context) => {
      requireKnown(request.mode, RebootMode, 'mode')
      const forced = request.mode === RebootMode.FORCED
      return begin(options, context, {
        request,
        encoded: SystemServiceService.reboot.requestSerialize({ ...request, idempotencyKey: '' }),
        codec: SystemServiceService.reboot,
        forced,
        steps: [...(forced ? FORCED : ORDERLY), 'start again'],
        act: (operationId) => power.begin({ kind: 'rebooting', forced, operationId }),
      })
    },
    shutdown: async (request, context) =>
      begin(options, context, {
        request,
        encoded: SystemServiceService.shutdown.requestSerialize({ ...request, idempotencyKey: '' }),
        codec: SystemServiceService.shutdown,
        forced: request.force,
        steps: [...(request.force ? FORCED : ORDERLY), 'power off'],
        act: (operationId) => power.begin({ kind: 'stopping', forced: request.force, operationId }),
      }),
  }
}

type PowerCall = {
  readonly request: Pick<RebootRequest, 'dryRun' | 'idempotencyKey'>
  readonly encoded: Buffer
  readonly codec: {
    readonly responseSerialize: (value: RebootResponse & ShutdownResponse) => Buffer
    readonly responseDeserialize: (value: Buffer) => RebootResponse
  }
  readonly forced: boolean
  readonly steps: readonly string[]
  readonly act: (operationId: string) => void
}

/** The answer is durable before anything happens, and what happens begins only after the answer had time to leave. */
function begin(options: SystemOptions, context: AgentContext, call: PowerCall): RebootResponse {
  const { node, operations } = options
  const key = operationCall(context, call.request.idempotencyKey, call.encoded)
  const known = operations.find(key)
  if (known !== undefined)
    return { ...call.codec.responseDeserialize(Buffer.from(known.answer, 'base64')), repeated: true }
  const id = operations.newId()
  const answer = {
    bootId: node.boot.bootId,
    steps: [...call.steps],
    repeated: false,
    operationId: call.request.dryRun ? '' : id,
  }
  if (call.request.dryRun) return answer
  requireUp(node)
  operations.keep(id, key, {
    state: 'accepted',
    forced: call.forced,
    answer: call.codec.responseSerialize(answer).toString('base64'),
  })
  call.act(id)
  return answer
}

/** The status with the services asked for; without them, and saying so, when they do not answer in time. */
async function currentStatus(node: Node, signal: AbortSignal): Promise<NodeStatus> {
  const services = await node.ports.services
    .list({ signal: AbortSignal.any([signal, AbortSignal.timeout(2_000)]) })
    .catch(() => undefined)
  signal.throwIfAborted()
  return statusOf(node, services)
}

async function* watchStatus(node: Node, signal: AbortSignal): AsyncGenerator<{ status: NodeStatus }> {
  let last = ''
  for (;;) {
    const seen = node.change.version
    const status = await currentStatus(node, signal)
    const text = fingerprint(status)
    if (text !== last) yield { status }
    last = text
    await node.clock.sleep(WATCH_INTERVAL_MS, signal)
    const poll = new AbortController()
    const waiting = AbortSignal.any([signal, poll.signal])
    const quiet = () => undefined
    const ends = [
      node.change.beyond(seen, waiting).catch(quiet),
      node.clock.sleep(SERVICE_POLL_MS, waiting).catch(quiet),
    ]
    await Promise.race(ends)
    poll.abort()
    signal.throwIfAborted()
  }
}

function fingerprint(status: NodeStatus): string {
  return JSON.stringify(status, (_key, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  )
}
