import type { ClusterSecrets } from '#pki'
import type { Cluster, Machine, SteleConfig } from './manifest.ts'

/** Everything that the user data of one machine depends on. */
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
