/**
 * SteleConfig `bootstrap.cluster.x-k8s.io/v1beta1`: what a machine is to become. kubeadm's own types under the names that Cluster API's kubeadm
 * provider uses, plus `nodeConfig`, so that existing manifests port by renaming the kind.
 */
import type { z } from 'zod'
import {
  fields,
  kubeadmClusterFields,
  kubeadmInitFields,
  kubeadmJoinFields,
  nodeConfigFields,
  nodeFiles,
} from '#config'

export const STELE_CONFIG_API = 'bootstrap.cluster.x-k8s.io/v1beta1'

/** Fields of a NodeConfig that the provider owns: written by a person they would name another node or open it to other admins. */
const { hostname: _hostname, trust: _trust, files: _files, ...ownNodeFields } = nodeConfigFields

export const steleConfigSpec = fields({
  clusterConfiguration: fields(kubeadmClusterFields).optional(),
  initConfiguration: fields(kubeadmInitFields).optional(),
  joinConfiguration: fields(kubeadmJoinFields).optional(),
  nodeConfig: fields({
    ...ownNodeFields,
    trust: fields({ certSANs: nodeConfigFields.trust.unwrap().shape.certSANs }).optional(),
  }).optional(),
  files: nodeFiles.optional(),
})

export type SteleConfigSpec = z.output<typeof steleConfigSpec>
