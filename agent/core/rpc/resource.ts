import type { ResourceServiceService } from '#api'
import type { Handlers } from '#rpc'
import type { Node } from '../node.ts'
import type { ServiceUse } from '../ports.ts'
import type { AgentContext } from './context.ts'
import { belongsHere } from './service.ts'

export function resourceHandlers(node: Node): Handlers<typeof ResourceServiceService, AgentContext> {
  const { services, resources } = node.ports
  return {
    get: async (_request, { signal }) => {
      const here = (await services.list({ signal })).filter(({ name }) => belongsHere(node, name))
      const use = await resources.measure(here, { signal })
      return {
        memory: {
          totalBytes: BigInt(use.memory.totalBytes),
          availableBytes: BigInt(use.memory.availableBytes),
        },
        fileSystems: use.fileSystems.map((one) => ({
          path: one.path,
          totalBytes: BigInt(one.totalBytes),
          availableBytes: BigInt(one.availableBytes),
          totalInodes: BigInt(one.totalInodes),
          availableInodes: BigInt(one.availableInodes),
        })),
        services: use.services.map(toMessage),
        bootPhases: use.bootPhases.map(({ name, ms }) => ({ name, duration: toDuration(ms) })),
      }
    },
  }
}

function toMessage({ name, residentBytes, groupBytes, groupPeakBytes, processorMs }: ServiceUse) {
  return {
    name,
    residentBytes: known(residentBytes),
    groupBytes: known(groupBytes),
    groupPeakBytes: known(groupPeakBytes),
    processorTime: processorMs === undefined ? undefined : toDuration(processorMs),
  }
}

function known(bytes: number | undefined): bigint | undefined {
  return bytes === undefined ? undefined : BigInt(bytes)
}

function toDuration(ms: number): { readonly seconds: bigint; readonly nanos: number } {
  return { seconds: BigInt(Math.floor(ms / 1000)), nanos: Math.floor((ms % 1000) * 1e6) }
}
