import type { ResourcePort } from '../ports.ts'
import { fileSystemUse, memoryUse, processUse } from '../process-use.ts'

/** The embedded mode: the machine is the host, STATE is a directory of it, and a service is one process. */
export function localResources(directory: string): ResourcePort {
  return {
    measure: async (services) => ({
      memory: memoryUse(),
      fileSystems: [fileSystemUse(directory)],
      services: services
        .filter(({ pid }) => pid !== 0)
        .map(({ name, pid }) => ({
          name,
          ...processUse(pid),
          groupBytes: undefined,
          groupPeakBytes: undefined,
        })),
      bootPhases: [],
    }),
  }
}
