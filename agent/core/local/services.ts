import { callInit, type InitService, type ServiceName } from '#init'
import { RpcFault } from '#rpc'
import type { BootPort, PowerPort, ServiceInfo, ServicePort } from '../ports.ts'

const NAMES: readonly ServiceName[] = ['core', 'gateway', 'trust']

/** Services, power and boots of the embedded mode: all of them are questions to init. */
export function initPorts(socket: string): {
  readonly services: ServicePort
  readonly power: PowerPort
  readonly boot: BootPort
} {
  return {
    services: {
      list: async ({ signal }) => {
        const { services = [] } = await callInit(socket, { command: 'list' }, { signal })
        return services.map(toInfo)
      },
      restart: async (name, { signal }) => {
        await callInit(socket, { command: 'restart', name: known(name) }, { signal })
      },
      start: async (name, { signal }) => {
        await callInit(socket, { command: 'start', name: known(name) }, { signal })
      },
      stop: async (name, { signal }) => {
        await callInit(socket, { command: 'stop', name: known(name) }, { signal })
      },
    },
    power: {
      reboot: async ({ forced, signal }) => {
        await callInit(socket, { command: 'reboot', forced }, { signal })
      },
      shutdown: async ({ forced, signal }) => {
        await callInit(socket, { command: 'shutdown', forced }, { signal })
      },
    },
    boot: {
      current: async ({ signal }) => {
        const { boot } = await callInit(socket, { command: 'status' }, { signal })
        if (boot === undefined)
          throw new RpcFault('unavailable', 'boot_unknown', 'the boot id is not known yet')
        return { bootId: boot.bootId, bootedAt: new Date(boot.bootedAt) }
      },
    },
  }
}

function toInfo(service: InitService): ServiceInfo {
  return { ...service, since: new Date(service.since) }
}

function known(name: string): ServiceName {
  const found = NAMES.find((one) => one === name)
  if (found === undefined)
    throw new RpcFault('not_found', 'service_unknown', 'there is no service of that name')
  return found
}
