/**
 * The parts of Cluster API's own kinds that are read here (contract v1beta2). They belong to somebody else, so every other field is left alone.
 */
import { z } from 'zod'
import { isCidr, pattern, text } from '#config'

export const CLUSTER_API = 'cluster.x-k8s.io/v1beta2'

const objectName = text(
  pattern(
    /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/,
    'the name of a Kubernetes object',
  ),
  253,
)
const labelMap = z.record(z.string(), z.string())
const cidr = text((value) =>
  isCidr(value) ? undefined : { code: 'cidr_form', message: 'has to be a CIDR such as 10.244.0.0/16' },
)

export const metadata = z.looseObject({
  name: objectName,
  namespace: objectName.optional(),
  labels: labelMap.optional(),
})

const cidrBlocks = z.looseObject({ cidrBlocks: z.array(cidr).min(1).max(2) })

export const clusterSpec = z.looseObject({
  controlPlaneEndpoint: z.looseObject({ host: text(), port: z.int().min(1).max(65535) }).optional(),
  clusterNetwork: z
    .looseObject({
      services: cidrBlocks.optional(),
      pods: cidrBlocks.optional(),
      serviceDomain: text().optional(),
      apiServerPort: z.int().min(1).max(65535).optional(),
    })
    .optional(),
})

export const machineSpec = z.looseObject({
  clusterName: objectName,
  version: text(pattern(/^v?\d+\.\d+\.\d+(?:[-+].*)?$/, 'a full version such as v1.31.4')).optional(),
  bootstrap: z.looseObject({
    configRef: z.looseObject({ apiGroup: text().optional(), kind: text(), name: objectName }).optional(),
  }),
})

export const CONTROL_PLANE_LABEL = 'cluster.x-k8s.io/control-plane'

export type ClusterSpec = z.output<typeof clusterSpec>
export type MachineSpec = z.output<typeof machineSpec>
export type ObjectMetadata = z.output<typeof metadata>
