/** kubeadm.k8s.io/v1beta4, as kubeadm 1.31 and later document it. */
import { z } from 'zod'
import { fields, text } from '../document/field.ts'
import { API_SERVER_PORT, certificateKey, duration, endpointText, kubernetesVersion } from './form.ts'
import * as part from './shared.ts'

export const V1BETA4 = 'kubeadm.k8s.io/v1beta4'

const nodeRegistration = fields({
  name: text().optional(),
  criSocket: text().optional(),
  taints: part.list(part.taint).optional(),
  kubeletExtraArgs: part.argumentList.optional(),
  ignorePreflightErrors: part.textList.optional(),
  imagePullPolicy: part.imagePullPolicy.optional(),
  imagePullSerial: z.boolean().optional(),
})

const component = {
  extraArgs: part.argumentList.optional(),
  extraVolumes: part.list(part.hostPathMount).optional(),
  extraEnvs: part.environment.optional(),
}
const image = { imageRepository: text().optional(), imageTag: text().optional() }

const timeouts = fields({
  controlPlaneComponentHealthCheck: duration.optional(),
  kubeletHealthCheck: duration.optional(),
  kubernetesAPICall: duration.optional(),
  etcdAPICall: duration.optional(),
  tlsBootstrap: duration.optional(),
  discovery: duration.optional(),
  upgradeManifests: duration.optional(),
})

/** Fields of each kind without `apiVersion` and `kind`: the provider embeds them under these names. */
export const initFields = {
  bootstrapTokens: part.list(part.token).optional(),
  dryRun: z.boolean().optional(),
  nodeRegistration: nodeRegistration.optional(),
  localAPIEndpoint: part.apiEndpoint.optional(),
  certificateKey: certificateKey.optional(),
  skipPhases: part.textList.optional(),
  patches: part.patches.optional(),
  timeouts: timeouts.optional(),
}

const joinBase = {
  dryRun: z.boolean().optional(),
  nodeRegistration: nodeRegistration.optional(),
  caCertPath: part.path.optional(),
  controlPlane: part.controlPlane.optional(),
  skipPhases: part.textList.optional(),
  patches: part.patches.optional(),
  timeouts: timeouts.optional(),
}

export const joinFields = { ...joinBase, discovery: fields(part.discoveryFields).optional() }

export const clusterFields = {
  etcd: fields({
    local: fields({
      ...image,
      dataDir: part.path.optional(),
      extraArgs: part.argumentList.optional(),
      extraEnvs: part.environment.optional(),
      serverCertSANs: part.textList.optional(),
      peerCertSANs: part.textList.optional(),
    }).optional(),
    external: part.externalEtcd.optional(),
  }).optional(),
  networking: part.networking.optional(),
  kubernetesVersion: kubernetesVersion.optional(),
  controlPlaneEndpoint: endpointText(API_SERVER_PORT).optional(),
  apiServer: fields({ ...component, certSANs: part.textList.optional() }).optional(),
  controllerManager: fields(component).optional(),
  scheduler: fields(component).optional(),
  dns: fields({ ...image, disabled: z.boolean().optional() }).optional(),
  proxy: fields({ disabled: z.boolean().optional() }).optional(),
  certificatesDir: part.path.optional(),
  imageRepository: text().optional(),
  featureGates: part.featureGates.optional(),
  clusterName: text().optional(),
  encryptionAlgorithm: z.enum(['ECDSA-P256', 'ECDSA-P384', 'RSA-2048', 'RSA-3072', 'RSA-4096']).optional(),
  certificateValidityPeriod: duration.optional(),
  caCertificateValidityPeriod: duration.optional(),
}

export const initConfiguration = fields({
  apiVersion: z.literal(V1BETA4),
  kind: z.literal('InitConfiguration'),
  ...initFields,
})

export const joinConfiguration = fields({
  apiVersion: z.literal(V1BETA4),
  kind: z.literal('JoinConfiguration'),
  ...joinBase,
  discovery: part.complete(fields(part.discoveryFields)),
})

export const clusterConfiguration = fields({
  apiVersion: z.literal(V1BETA4),
  kind: z.literal('ClusterConfiguration'),
  ...clusterFields,
})
