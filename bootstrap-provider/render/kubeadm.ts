/** The kubeadm documents of one machine, in v1beta4: what the manifest says, completed from Cluster, Machine and secrets. Written values win. */
import { toV1beta3, V1BETA4, type KubeadmDocument, type KubeadmV1beta4Document, type V1BETA3 } from '#config'
import { formatEndpoint } from '#kit/endpoint'
import type { RenderInput } from './user-data.ts'

/** Keeps pods off a node until Cluster API has completed it; its Machine controller takes the taint away. */
const UNINITIALIZED = { key: 'node.cluster.x-k8s.io/uninitialized', effect: 'NoSchedule' as const }

export type Endpoint = { readonly host: string; readonly port: number }

/** Documents of the control plane that starts the cluster. */
export function initDocuments(
  input: RenderInput,
  endpoint: Endpoint,
  version: string,
): readonly KubeadmV1beta4Document[] {
  const { config, cluster, machine, secrets } = input
  const { clusterConfiguration, initConfiguration } = config.spec
  const written = clusterConfiguration?.networking
  return [
    {
      apiVersion: V1BETA4,
      kind: 'ClusterConfiguration',
      ...clusterConfiguration,
      clusterName: clusterConfiguration?.clusterName ?? cluster.metadata.name,
      kubernetesVersion: clusterConfiguration?.kubernetesVersion ?? withV(version),
      controlPlaneEndpoint: clusterConfiguration?.controlPlaneEndpoint ?? formatEndpoint(endpoint),
      networking: compact({ ...networkingOf(input), ...written }),
    },
    {
      apiVersion: V1BETA4,
      kind: 'InitConfiguration',
      ...initConfiguration,
      bootstrapTokens: [
        { token: secrets.bootstrapToken, description: 'joins the machines of this cluster' },
        ...(initConfiguration?.bootstrapTokens ?? []),
      ],
      certificateKey: initConfiguration?.certificateKey ?? secrets.certificateKey,
      nodeRegistration: { name: machine.metadata.name, ...initConfiguration?.nodeRegistration },
    },
  ]
}

/** Documents of every other machine. */
export function joinDocuments(
  input: RenderInput,
  endpoint: Endpoint,
  isControlPlane: boolean,
): readonly KubeadmV1beta4Document[] {
  const { machine, secrets } = input
  const { controlPlane: writtenControlPlane, ...join } = input.config.spec.joinConfiguration ?? {}
  const registration = join.nodeRegistration
  const taints = [...(registration?.taints ?? []), UNINITIALIZED]
  return [
    {
      apiVersion: V1BETA4,
      kind: 'JoinConfiguration',
      ...join,
      discovery: discoveryOf(input, endpoint),
      nodeRegistration: {
        name: machine.metadata.name,
        ...registration,
        ...(isControlPlane ? {} : { taints }),
      },
      ...(isControlPlane
        ? { controlPlane: { certificateKey: secrets.certificateKey, ...writtenControlPlane } }
        : {}),
    },
  ]
}

/** File discovery stays as it is written; token discovery is completed. */
function discoveryOf({ config, secrets, caCertHashes }: RenderInput, endpoint: Endpoint) {
  const written = config.spec.joinConfiguration?.discovery
  if (written?.file !== undefined) return written
  const token = secrets.bootstrapToken
  const known = { token, apiServerEndpoint: formatEndpoint(endpoint), caCertHashes: [...caCertHashes] }
  return { ...written, bootstrapToken: { ...known, ...written?.bootstrapToken } }
}

/** The documents in the version that the machine's kubeadm reads. */
export function inVersion(
  documents: readonly KubeadmV1beta4Document[],
  apiVersion: typeof V1BETA3 | typeof V1BETA4,
): readonly KubeadmDocument[] {
  return apiVersion === V1BETA4 ? documents : documents.map((document) => toV1beta3(document))
}

function networkingOf({ cluster }: RenderInput) {
  const network = cluster.spec.clusterNetwork
  return {
    serviceSubnet: network?.services?.cidrBlocks.join(','),
    podSubnet: network?.pods?.cidrBlocks.join(','),
    dnsDomain: network?.serviceDomain,
  }
}

/** Without the entries that have no value. */
function compact<T extends Readonly<Record<string, string | undefined>>>(value: T): T {
  // Removing undefined entries leaves a value of the same type.
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as T
}

function withV(version: string): string {
  return version.startsWith('v') ? version : `v${version}`
}
