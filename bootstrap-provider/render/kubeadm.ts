/** The kubeadm documents of one machine, in v1beta4: what the manifest says, completed from Cluster, Machine and secrets. Written values win. */
import { toV1beta3, V1BETA4, type KubeadmDocument, type KubeadmV1beta4Document, type V1BETA3 } from '#config'
import { formatEndpoint, type Endpoint } from '#kit/endpoint'
import type { RenderInput } from './input.ts'

/** Keeps pods off a node until Cluster API has completed it; its Machine controller takes the taint away. */
const UNINITIALIZED = { key: 'node.cluster.x-k8s.io/uninitialized', effect: 'NoSchedule' as const }

/** Documents of the control plane that starts the cluster. */
export function initDocuments(
  input: RenderInput,
  endpoint: Endpoint,
  version: string,
): readonly KubeadmV1beta4Document[] {
  return [clusterDocument(input, endpoint, version), initDocument(input)]
}

function clusterDocument(input: RenderInput, endpoint: Endpoint, version: string): KubeadmV1beta4Document {
  const written = input.config.spec.clusterConfiguration
  const known = {
    clusterName: input.cluster.metadata.name,
    kubernetesVersion: withV(version),
    controlPlaneEndpoint: formatEndpoint(endpoint),
  }
  const networking = { ...networkingOf(input), ...written?.networking }
  return { apiVersion: V1BETA4, kind: 'ClusterConfiguration', ...known, ...written, networking }
}

function initDocument({ config, machine, secrets }: RenderInput): KubeadmV1beta4Document {
  const written = config.spec.initConfiguration
  const own = { token: secrets.bootstrapToken, description: 'joins the machines of this cluster' }
  return {
    apiVersion: V1BETA4,
    kind: 'InitConfiguration',
    certificateKey: secrets.certificateKey,
    ...written,
    bootstrapTokens: [own, ...(written?.bootstrapTokens ?? [])],
    nodeRegistration: { name: machine.metadata.name, ...written?.nodeRegistration },
  }
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

/** Only what the Cluster says: an absent entry must not hide a default of kubeadm. */
function networkingOf({ cluster }: RenderInput) {
  const { services, pods, serviceDomain } = cluster.spec.clusterNetwork ?? {}
  return {
    ...(services === undefined ? {} : { serviceSubnet: services.cidrBlocks.join(',') }),
    ...(pods === undefined ? {} : { podSubnet: pods.cidrBlocks.join(',') }),
    ...(serviceDomain === undefined ? {} : { dnsDomain: serviceDomain }),
  }
}

function withV(version: string): string {
  return version.startsWith('v') ? version : `v${version}`
}
