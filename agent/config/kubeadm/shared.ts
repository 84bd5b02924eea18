/** Parts that both versions of kubeadm's API have alike. Field names and meanings: kubeadm API reference, v1beta3 and v1beta4. */
import { z } from 'zod'
import { fields, issueOf, mapOf, pattern, text, textMap } from '../document/field.ts'
import {
  absolutePathRule,
  bootstrapToken,
  caCertHash,
  certificateKey,
  cidrListRule,
  duration,
  endpointText,
  API_SERVER_PORT,
  ipRule,
} from './form.ts'
import { discoveryProblem } from './discovery.ts'

const MAX_LIST = 100

export const list = <Item extends z.ZodType>(item: Item, max = MAX_LIST) => z.array(item).max(max)
export const port = z.int().min(1).max(65535)
export const path = text(absolutePathRule, 512)
export const textList = list(text())

export const taint = fields({
  key: text(pattern(/^.{1,316}$/, 'the name of a taint')),
  value: text().optional(),
  effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']),
  timeAdded: text().optional(),
})

export const token = fields({
  token: bootstrapToken,
  description: text().optional(),
  ttl: duration.optional(),
  expires: text().optional(),
  usages: textList.optional(),
  groups: textList.optional(),
})

export const apiEndpoint = fields({
  advertiseAddress: text(ipRule).optional(),
  bindPort: port.optional(),
})

export const hostPathMount = fields({
  name: text(),
  hostPath: path,
  mountPath: path,
  readOnly: z.boolean().optional(),
  pathType: z
    .enum([
      '',
      'DirectoryOrCreate',
      'Directory',
      'FileOrCreate',
      'File',
      'Socket',
      'CharDevice',
      'BlockDevice',
    ])
    .optional(),
})

export const networking = fields({
  serviceSubnet: text(cidrListRule).optional(),
  podSubnet: text(cidrListRule).optional(),
  dnsDomain: text().optional(),
})

export const patches = fields({ directory: path.optional() })
export const imagePullPolicy = z.enum(['Always', 'IfNotPresent', 'Never'])
export const featureGates = mapOf(pattern(/^[A-Za-z]\w{0,62}$/, 'the name of a feature gate'), z.boolean())

export const externalEtcd = fields({
  endpoints: list(text()).min(1),
  caFile: path.optional(),
  certFile: path.optional(),
  keyFile: path.optional(),
})

export const discoveryFields = {
  bootstrapToken: fields({
    token: bootstrapToken,
    apiServerEndpoint: endpointText(API_SERVER_PORT).optional(),
    caCertHashes: list(caCertHash).optional(),
    unsafeSkipCAVerification: z.boolean().optional(),
  }).optional(),
  file: fields({ kubeConfigPath: text() }).optional(),
  tlsBootstrapToken: text().optional(),
}

/** A discovery that a node can join by. */
export function complete<Schema extends z.ZodType<Parameters<typeof discoveryProblem>[0]>>(schema: Schema) {
  return schema.check((context) => {
    const problem = discoveryProblem(context.value)
    if (problem !== undefined) context.issues.push(issueOf(context.value, problem))
  })
}

export const controlPlane = fields({
  localAPIEndpoint: apiEndpoint.optional(),
  certificateKey: certificateKey.optional(),
})

export const argumentMap = textMap(
  pattern(/^[A-Za-z0-9][\w.-]{0,127}$/, 'the name of an argument, without dashes before it'),
)

export const argumentList = list(
  fields({
    name: text(pattern(/^[A-Za-z0-9][\w.-]{0,127}$/, 'the name of an argument, without dashes before it')),
    value: text([], 4096),
  }),
  200,
)

export const environment = list(
  fields({
    name: text(pattern(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'the name of an environment variable')),
    value: text([], 4096).optional(),
  }),
)
