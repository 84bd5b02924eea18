/** The smallest manifests of a cluster, for `gen config`: the same way to user data that Cluster API's manifests take. Pure. */
import type { Endpoint } from '#kit/endpoint'

export type ClusterInput = {
  readonly cluster: string
  readonly endpoint: Endpoint
  readonly kubernetesVersion: string
}

/** YAML of a Cluster with one control plane, `<name>-cp-1`, and one worker, `<name>-worker-1`. */
export async function manifestsOf(input: ClusterInput): Promise<string> {
  const { stringify } = await import('yaml')
  const documents = [
    clusterOf(input),
    ...machineOf(input, `${input.cluster}-cp-1`, { 'cluster.x-k8s.io/control-plane': '' }),
    ...machineOf(input, `${input.cluster}-worker-1`, {}),
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
