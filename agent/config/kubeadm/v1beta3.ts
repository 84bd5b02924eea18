/** kubeadm.k8s.io/v1beta3, as kubeadm 1.22 to 1.30 documents it. */
import { z } from 'zod'
import { fields, text } from '../document/field.ts'
import { API_SERVER_PORT, certificateKey, duration, endpointText, kubernetesVersion } from './form.ts'
import * as part from './shared.ts'

export const V1BETA3 = 'kubeadm.k8s.io/v1beta3'

const nodeRegistration = fields({
  name: text().optional(),
  criSocket: text().optional(),
  taints: part.list(part.taint).optional(),
  kubeletExtraArgs: part.argumentMap.optional(),
  ignorePreflightErrors: part.textList.optional(),
  imagePullPolicy: part.imagePullPolicy.optional(),
})

const component = {
  extraArgs: part.argumentMap.optional(),
  extraVolumes: part.list(part.hostPathMount).optional(),
}
const image = { imageRepository: text().optional(), imageTag: text().optional() }

export const initConfiguration = fields({
  apiVersion: z.literal(V1BETA3),
  kind: z.literal('InitConfiguration'),
  bootstrapTokens: part.list(part.token).optional(),
  nodeRegistration: nodeRegistration.optional(),
  localAPIEndpoint: part.apiEndpoint.optional(),
  certificateKey: certificateKey.optional(),
  skipPhases: part.textList.optional(),
  patches: part.patches.optional(),
})

export const joinConfiguration = fields({
  apiVersion: z.literal(V1BETA3),
  kind: z.literal('JoinConfiguration'),
  nodeRegistration: nodeRegistration.optional(),
  caCertPath: part.path.optional(),
  discovery: part.complete(fields({ ...part.discoveryFields, timeout: duration.optional() })),
  controlPlane: part.controlPlane.optional(),
  skipPhases: part.textList.optional(),
  patches: part.patches.optional(),
})

export const clusterConfiguration = fields({
  apiVersion: z.literal(V1BETA3),
  kind: z.literal('ClusterConfiguration'),
  etcd: fields({
    local: fields({
      ...image,
      dataDir: part.path.optional(),
      extraArgs: part.argumentMap.optional(),
      serverCertSANs: part.textList.optional(),
      peerCertSANs: part.textList.optional(),
    }).optional(),
    external: part.externalEtcd.optional(),
  }).optional(),
  networking: part.networking.optional(),
  kubernetesVersion: kubernetesVersion.optional(),
  controlPlaneEndpoint: endpointText(API_SERVER_PORT).optional(),
  apiServer: fields({
    ...component,
    certSANs: part.textList.optional(),
    timeoutForControlPlane: duration.optional(),
  }).optional(),
  controllerManager: fields(component).optional(),
  scheduler: fields(component).optional(),
  dns: fields(image).optional(),
  certificatesDir: part.path.optional(),
  imageRepository: text().optional(),
  featureGates: part.featureGates.optional(),
  clusterName: text().optional(),
})
