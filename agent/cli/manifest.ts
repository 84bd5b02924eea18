/** The smallest manifests of a cluster, for `gen config`: the same way to user data that Cluster API's manifests take. Pure. */
import type { Endpoint } from '#kit/endpoint'

export type ClusterInput = {
  readonly cluster: string
  readonly endpoint: Endpoint
  readonly kubernetesVersion: string
  /** How many there are of each; one unless said otherwise. */
  readonly controlPlanes?: number
  readonly workers?: number
}

export type MachineRole = 'control-plane' | 'worker'

/** What `gen config` and `cluster create` write into manifests unless told otherwise. */
export const KUBERNETES_VERSION = 'v1.34.1'

/** The machines of a cluster, control planes first: `<name>-cp-1` and on, `<name>-worker-1` and on. */
export function machinesOf(
  input: Pick<ClusterInput, 'cluster' | 'controlPlanes' | 'workers'>,
): readonly { readonly name: string; readonly role: MachineRole }[] {
  const numbered = (count: number, word: string, role: MachineRole) =>
    Array.from({ length: count }, (_, index) => ({ name: `${input.cluster}-${word}-${index + 1}`, role }))
  return [
    ...numbered(input.controlPlanes ?? 1, 'cp', 'control-plane'),
    ...numbered(input.workers ?? 1, 'worker', 'worker'),
  ]
}

/** YAML of a Cluster with its machines, by default one control plane and one worker. */
export async function manifestsOf(input: ClusterInput): Promise<string> {
  const { stringify } = await import('yaml')
  const labels = { 'control-plane': { 'cluster.x-k8s.io/control-plane': '' }, worker: {} }
  const documents = [
    clusterOf(input),
    ...machinesOf(input).flatMap(({ name, role }) => machineOf(input, name, labels[role])),
  ]
  return documents.map((document) => `---\n${stringify(document)}`).join('')
}

function clusterOf({ cluster, endpoint }: ClusterInput): object {
  return {
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'Cluster',
    metadata: { name: cluster, namespace: 'default' },
    spec: { controlPlaneEndpoint: { host: endpoint.host, port: endpoint.port } },
  }
}

function machineOf(input: ClusterInput, name: string, labels: Readonly<Record<string, string>>): object[] {
  const metadata = {
    name,
    namespace: 'default',
    labels: { 'cluster.x-k8s.io/cluster-name': input.cluster, ...labels },
  }
  const configRef = { apiGroup: 'bootstrap.cluster.x-k8s.io', kind: 'SteleConfig', name }
  return [
    {
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'Machine',
      metadata,
      spec: { clusterName: input.cluster, version: input.kubernetesVersion, bootstrap: { configRef } },
    },
    {
      apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta1',
      kind: 'SteleConfig',
      metadata: { name, namespace: 'default' },
      spec: {},
    },
  ]
}
