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
import { parseEndpoint, type Endpoint } from '#kit/endpoint'
import { err, ok, type Result } from '#kit/result'
import { CONTROL_PLANE_LABEL } from '../api/v1beta1/cluster-api.ts'
import type { RenderInput } from './input.ts'
import { initDocuments, inVersion, joinDocuments } from './kubeadm.ts'
import { kubeadmApiVersion } from './kubeadm-version.ts'
import type { Cluster, Machine } from './manifest.ts'
import { controlPlaneNodeConfig, workerNodeConfig } from './node-config.ts'

export type RenderedUserData = {
  readonly userData: string
  readonly role: 'control-plane' | 'worker'
  readonly kubeadmApiVersion: typeof V1BETA3 | typeof V1BETA4
}

/** Returns the user data of one machine, or why there can be none; findings point into the manifests. */
export function renderUserData(input: RenderInput): Result<RenderedUserData, readonly Finding[]> {
  const endpoint = endpointOf(input.cluster)
  const version = versionOf(input.machine)
  const isControlPlane = isControlPlaneMachine(input.machine)
  const misplaced = misplacedFindings(input, isControlPlane)
  if (!endpoint.ok || !version.ok || misplaced.length > 0) {
    return err([
      ...(endpoint.ok ? [] : [endpoint.error]),
      ...(version.ok ? [] : [version.error]),
      ...misplaced,
    ])
  }
  const { kubernetes, kubeadm } = version.value
  const documents = input.firstControlPlane
    ? initDocuments(input, endpoint.value, kubernetes)
    : joinDocuments(input, endpoint.value, isControlPlane)
  const nodeConfig = isControlPlane ? controlPlaneNodeConfig : workerNodeConfig
  const userData = printDocuments([...inVersion(documents, kubeadm), nodeConfig(input, endpoint.value)])
  const parsed = parseNodeConfiguration(userData, { file: 'user data' })
  if (!parsed.ok) return err(parsed.error.map((finding) => inManifest(input, finding)))
  return ok({ userData, role: isControlPlane ? 'control-plane' : 'worker', kubeadmApiVersion: kubeadm })
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

function versionOf(machine: Machine) {
  const { version } = machine.spec
  const kubeadm = version === undefined ? undefined : kubeadmApiVersion(version)
  if (version !== undefined && kubeadm !== undefined) return ok({ kubernetes: version, kubeadm })
  const problem =
    version === undefined
      ? {
          code: 'version_missing',
          message: 'is missing: it decides which kubeadm documents the machine reads',
        }
      : { code: 'version_unsupported', message: 'has to be Kubernetes 1.22 or later' }
  return err(machine.finding(['spec', 'version'], problem))
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
