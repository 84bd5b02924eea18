/** Which kinds are accepted next to NodeConfig, and the schema of each. */
import { z } from 'zod'
import * as v1beta3 from './v1beta3.ts'
import * as v1beta4 from './v1beta4.ts'

export const KUBELET_API = 'kubelet.config.k8s.io/v1beta1'
export const KUBE_PROXY_API = 'kubeproxy.config.k8s.io/v1alpha1'

const kubeletConfiguration = z.looseObject({
  apiVersion: z.literal(KUBELET_API),
  kind: z.literal('KubeletConfiguration'),
})

const kubeProxyConfiguration = z.looseObject({
  apiVersion: z.literal(KUBE_PROXY_API),
  kind: z.literal('KubeProxyConfiguration'),
})

export type InitConfiguration =
  z.output<typeof v1beta3.initConfiguration> | z.output<typeof v1beta4.initConfiguration>
export type JoinConfiguration =
  z.output<typeof v1beta3.joinConfiguration> | z.output<typeof v1beta4.joinConfiguration>
export type ClusterConfiguration =
  z.output<typeof v1beta3.clusterConfiguration> | z.output<typeof v1beta4.clusterConfiguration>
export type KubeletConfiguration = z.output<typeof kubeletConfiguration>
export type KubeProxyConfiguration = z.output<typeof kubeProxyConfiguration>

/** A document that kubeadm reads. `kind` tells which. */
export type KubeadmDocument =
  InitConfiguration | JoinConfiguration | ClusterConfiguration | KubeletConfiguration | KubeProxyConfiguration

/** Kind → apiVersion → schema. */
export const kubeadmKinds: Readonly<Record<string, Readonly<Record<string, z.ZodType<KubeadmDocument>>>>> = {
  InitConfiguration: {
    [v1beta3.V1BETA3]: v1beta3.initConfiguration,
    [v1beta4.V1BETA4]: v1beta4.initConfiguration,
  },
  JoinConfiguration: {
    [v1beta3.V1BETA3]: v1beta3.joinConfiguration,
    [v1beta4.V1BETA4]: v1beta4.joinConfiguration,
  },
  ClusterConfiguration: {
    [v1beta3.V1BETA3]: v1beta3.clusterConfiguration,
    [v1beta4.V1BETA4]: v1beta4.clusterConfiguration,
  },
  KubeletConfiguration: { [KUBELET_API]: kubeletConfiguration },
  KubeProxyConfiguration: { [KUBE_PROXY_API]: kubeProxyConfiguration },
}

/** Kinds that `kubeadm init` reads and `kubeadm join` does not. */
export const INIT_ONLY: ReadonlySet<string> = new Set([
  'ClusterConfiguration',
  'KubeletConfiguration',
  'KubeProxyConfiguration',
])
