/** Records of clusters for tests: as `cluster create` would begin them. */
import { planNodes, type Wanted } from '../../../../agent/cli/cluster/plan.ts'
import type { ClusterRecord, ClusterSpec } from '../../../../agent/cli/cluster/record.ts'

export const ROOT_HASH = 'a'.repeat(64)

export function wantedOf(spec: Partial<ClusterSpec> = {}): Wanted {
  return {
    name: 'demo',
    spec: {
      ...{ controlPlanes: 1, workers: 1, memoryMiB: 2048, diskGiB: 8, boot: 'firmware', image: '/image' },
      ...spec,
    },
    rootHash: ROOT_HASH,
  }
}

export function recordOf({ name, spec, rootHash }: Wanted = wantedOf()): ClusterRecord {
  return {
    ...({ kind: 'stele-cluster', version: 1, provisioner: 'qemu' } as const),
    ...{ name, spec, rootHash, wirePort: 40_000, contextFile: '/config.yaml' },
    nodes: planNodes(name, spec).map((node, index) => ({ ...node, apiPort: 30_000 + index })),
  }
}
