import { ServiceServiceService, ServiceState, type Service } from '#api'
import { RpcFault, type Handlers } from '#rpc'
import type { Node } from '../node.ts'
import type { Operations } from '../operation.ts'
import type { ServiceInfo, ServiceStateName } from '../ports.ts'
import { operationCall, requireUp, type AgentContext } from './context.ts'

const STATES: Readonly<Record<ServiceStateName, ServiceState>> = {
  starting: ServiceState.STARTING,
  running: ServiceState.RUNNING,
  restarting: ServiceState.RESTARTING,
  stopped: ServiceState.STOPPED,
}

export function serviceHandlers(options: {
  readonly node: Node
  readonly operations: Operations
}): Handlers<typeof ServiceServiceService, AgentContext> {
  const { node, operations } = options
  const { services } = node.ports
  return {
    list: async (_request, { signal }) => {
      const all = await services.list({ signal })
      return { services: all.filter(({ name }) => belongsHere(node, name)).map(toService) }
    },
    get: async (request, { signal }) => ({ service: toService(await find(node, request.name, signal)) }),
    restart: async (request, context) => {
      const codec = ServiceServiceService.restart
      const call = operationCall(
        context,
        request.idempotencyKey,
        codec.requestSerialize({ ...request, idempotencyKey: '' }),
      )
      const known = operations.find(call)
      if (known !== undefined)
        return { ...codec.responseDeserialize(Buffer.from(known.answer, 'base64')), repeated: true }
      const service = toService(await find(node, request.name, context.signal))
      if (request.dryRun) return { service, repeated: false, operationId: '' }
      requireUp(node)
      const id = operations.newId()
      const answer = { service, repeated: false, operationId: id }
      operations.keep(id, call, {
        state: 'accepted',
        answer: codec.responseSerialize(answer).toString('base64'),
      })
      node.events.emit({
        code: 'service.restart',
        message: 'A restart of a service was asked for.',
        operationId: id,
        details: { service: request.name, by: context.identity.commonName },
      })
      restartAfterAnswer(options, request.name, id)
      return answer
    },
  }
}

/** Restarts after the answer had time to leave: the service may be one that the answer passes through. */
export function restartAfterAnswer(
  options: { readonly node: Node; readonly operations: Operations },
  name: string,
  id: string,
): void {
  const { node, operations } = options
  const signal = AbortSignal.timeout(30_000)
  const act = async () => {
    await node.clock.sleep(100, signal)
    // Finished first: when it is core itself that restarts, there is nobody left to say so afterwards.
    operations.finish(id)
    await node.ports.services.restart(name, { signal })
  }
  act().catch((error: unknown) =>
    node.log.error('service restart failed', { service: name, operationId: id, error }),
  )
}

async function find(node: Node, name: string, signal: AbortSignal): Promise<ServiceInfo> {
  const found = (await node.ports.services.list({ signal })).find((service) => service.name === name)
  if (found !== undefined && belongsHere(node, name)) return found
  if (found !== undefined) {
    throw new RpcFault('failed_precondition', 'service_not_here', 'this node does not run that service', {
      hint: 'trust runs on control planes; stelectl services lists what runs here',
    })
  }
  throw new RpcFault('not_found', 'service_unknown', 'there is no service of that name', {
    hint: 'stelectl services lists them',
  })
}

/** Trust signs for workers, so only a node that holds the authority's key runs it. */
export function belongsHere(node: Node, name: string): boolean {
  return name !== 'trust' || node.view?.authorityKey !== undefined
}

function toService(info: ServiceInfo): Service {
  return { ...info, state: STATES[info.state] }
}
