import type { IntegrityServiceService } from '#api'
import type { Handlers } from '#rpc'
import type { Node } from '../node.ts'
import type { AgentContext } from './context.ts'

export function integrityHandlers(node: Node): Handlers<typeof IntegrityServiceService, AgentContext> {
  return {
    getIntegrity: async (_request, { signal }) => {
      const seen = await node.ports.integrity.measure({ signal })
      return {
        mounts: [...(seen.mounts ?? [])],
        verity: seen.verity,
        probes: [...(seen.probes ?? [])],
        kernel: seen.kernel,
        programs:
          seen.programs === undefined
            ? undefined
            : {
                executables: [...seen.programs.executables],
                scripts: [...seen.programs.scripts],
                interpreters: [...seen.programs.interpreters],
                packageManagers: [...seen.programs.packageManagers],
                setuid: [...seen.programs.setuid],
              },
        processes: (seen.processes ?? []).map((one) => ({
          ...one,
          effective: [...one.effective],
          permitted: [...one.permitted],
          bounding: [...one.bounding],
        })),
        sockets: [...(seen.sockets ?? [])],
        exposures: [...(seen.exposures ?? [])],
        unknowns: [...seen.unknowns],
      }
    },
  }
}
