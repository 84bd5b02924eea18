/**
 * Cluster + Machine + SteleConfig + secrets → user data. Pure: the same input gives the same bytes.
 *
 * Invariant: what comes out was parsed back by the parser that nodes use; user data that a node would refuse is refused here.
 */
import {
  parseNodeConfiguration,
  printDocuments,
  type Finding,
  type Path,
  type V1BETA3,
  type V1BETA4,
} from '#config'
import { parseEndpoint } from '#kit/endpoint'
import { err, ok, type Result } from '#kit/result'
import type { ClusterSecrets } from '#pki'
import { CONTROL_PLANE_LABEL } from '../api/v1beta1/cluster-api.ts'
import { initDocuments, inVersion, joinDocuments, type Endpoint } from './kubeadm.ts'
import { kubeadmApiVersion } from './kubeadm-version.ts'
import type { Cluster, Machine, SteleConfig } from './manifest.ts'
import { controlPlaneNodeConfig, workerNodeConfig } from './node-config.ts'

export type RenderInput = {
  readonly cluster: Cluster
  readonly machine: Machine
  readonly config: SteleConfig
  readonly secrets: ClusterSecrets
  /** Addresses of control planes, for workers to find trust at; the cluster's endpoint when there are none yet. */
  readonly controlPlaneAddresses?: readonly string[] | undefined
  /** `host:port` of trust, in place of the addresses and trust's own port. */
  readonly trustEndpoints?: readonly string[] | undefined
  /** True for the one control plane that starts the cluster. */
  readonly firstControlPlane: boolean
  /** Pins of the Kubernetes CA, see `caCertHashes`. */
  readonly caCertHashes: readonly string[]
}

export type RenderedUserData = {
  readonly userData: string
  readonly role: 'control-plane' | 'worker'
  readonly kubeadmApiVersion: typeof V1BETA3 | typeof V1BETA4
}

/** Returns the user data of one machine, or why there can be none; findings point into the manifests. */
export function renderUserData(input: RenderInput): Result<RenderedUserData, readonly Finding[]> {
  const endpoint = endpointOf(input.cluster)
  const { version } = input.machine.spec
  const apiVersion = version === undefined ? undefined : kubeadmApiVersion(version)
  if (!endpoint.ok || version === undefined || apiVersion === undefined) {
    const versions = apiVersion === undefined ? [versionFinding(input.machine)] : []
    return err([...(endpoint.ok ? [] : [endpoint.error]), ...versions])
  }
  const isControlPlane = isControlPlaneMachine(input.machine)
  const misplaced = misplacedFindings(input, isControlPlane)
  if (misplaced.length > 0) return err(misplaced)
  const kubeadm = input.firstControlPlane
    ? initDocuments(input, endpoint.value, version)
    : joinDocuments(input, endpoint.value, isControlPlane)
  const node = isControlPlane
    ? controlPlaneNodeConfig(input, endpoint.value)
    : workerNodeConfig(input, endpoint.value)
  const userData = printDocuments([...inVersion(kubeadm, apiVersion), node])
  const parsed = parseNodeConfiguration(userData, { file: 'user data' })
  if (!parsed.ok) return err(parsed.error.map((finding) => inManifest(input, finding)))
  return ok({ userData, role: isControlPlane ? 'control-plane' : 'worker', kubeadmApiVersion: apiVersion })
}

/** True for a Machine with Cluster API's control-plane label, whatever its value. */
export function isControlPlaneMachine(machine: Machine): boolean {
  return machine.metadata.labels?.[CONTROL_PLANE_LABEL] !== undefined
}

function endpointOf(cluster: Cluster): Result<Endpoint, Finding> {
  const written = cluster.spec.controlPlaneEndpoint
  const path = ['spec', 'controlPlaneEndpoint']
  if (written === undefined || written.host === '') {
    const message = 'is missing: no machine can be told where the API server is'
    return err(cluster.finding(path, { code: 'endpoint_missing', message }))
  }
  const parsed = parseEndpoint(written.host, { defaultPort: written.port })
  if (parsed.ok && parsed.value.port === written.port) return ok(parsed.value)
  const message = 'the host of the endpoint has to be a DNS name or an IP address, without a port'
  return err(cluster.finding([...path, 'host'], { code: 'endpoint_invalid', message }))
}

function versionFinding(machine: Machine): Finding {
  const isMissing = machine.spec.version === undefined
  return machine.finding(['spec', 'version'], {
    code: isMissing ? 'version_missing' : 'version_unsupported',
    message: isMissing
      ? 'is missing: it decides which kubeadm documents the machine reads'
      : 'has to be Kubernetes 1.22 or later',
  })
}

/** What a SteleConfig says for a machine that would never read it. Silence would look like success. */
function misplacedFindings(input: RenderInput, isControlPlane: boolean): readonly Finding[] {
  const { config, firstControlPlane, machine } = input
  if (firstControlPlane && !isControlPlane) {
    const message = `needs the label ${CONTROL_PLANE_LABEL} to start a cluster`
    return [machine.finding(['metadata', 'labels'], { code: 'not_a_control_plane', message })]
  }
  if (isControlPlane) return []
  const unread: readonly Path[] = [
    ...(config.spec.clusterConfiguration === undefined ? [] : [['spec', 'clusterConfiguration']]),
    ...(config.spec.initConfiguration === undefined ? [] : [['spec', 'initConfiguration']]),
    ...(config.spec.joinConfiguration?.controlPlane === undefined
      ? []
      : [['spec', 'joinConfiguration', 'controlPlane']]),
  ]
  const message = 'is for control planes, and this SteleConfig is of a worker'
  return unread.map((path) => config.finding(path, { code: 'field_without_effect', message }))
}

/** A problem of the rendered text, told at the SteleConfig it was rendered from. */
function inManifest({ config }: RenderInput, finding: Finding): Finding {
  const { code, message, hint } = finding
  const where = finding.path === '' ? '' : ` (at ${finding.path} of the rendered user data)`
  const problem = { code, message: `${message}${where}`, ...(hint === undefined ? {} : { hint }) }
  return config.finding(['spec'], problem)
}
