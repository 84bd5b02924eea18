/**
 * NodeConfig `stele.dev/v1alpha1`: what a node is besides Kubernetes. Every field is optional; unknown keys are refused; nothing here has an
 * effect by itself. Defaults are in `defaults.ts`, checks over several fields in `cross-field.ts`, what a change needs in `effect.ts`.
 */
import { z } from 'zod'
import { fields, mapOf, pattern, text, textMap } from '../document/field.ts'
import { caCertHash, duration, endpointText, ipRule, isCidr, kubernetesVersion } from '../kubeadm/form.ts'
import { filePathProblem, MAX_FILES } from './file.ts'
import {
  hostnameRule,
  hostRule,
  labelValueRule,
  nodeLabelNameRule,
  qualifiedNameRule,
  urlRule,
} from './name.ts'
import { caBundleProblem, privateKeyProblem } from './pem.ts'

export const NODE_CONFIG_API = 'stele.dev/v1alpha1'
export const TRUST_PORT = 50001

const PEM_MAX = 64 * 1024
/** Base64 of the largest file, with room for line breaks. */
const CONTENT_MAX = 96 * 1024

const list = <Item extends z.ZodType>(item: Item, max: number) => z.array(item).max(max)

const trust = fields({
  ca: text(caBundleProblem, PEM_MAX).meta({
    description: 'PEM certificates of the authorities of the node API.',
  }),
  caKey: text(privateKeyProblem, PEM_MAX).meta({
    description: 'PEM private key of one of them. Control planes only.',
  }),
  endpoints: list(endpointText(TRUST_PORT), 16).meta({
    description: 'Where a worker asks for its certificate: host or host:port; port 50001 unless written.',
  }),
  username: text(
    pattern(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'at most 64 letters, digits, dots, hyphens, underscores'),
  ).meta({
    description: 'Public half of the join credential.',
  }),
  password: text(pattern(/^[!-~]{8,256}$/, '8 to 256 printable characters without spaces')).meta({
    description: 'Secret half of the join credential. A control plane accepts it, a worker shows it.',
  }),
  caPins: list(caCertHash, 16).meta({
    description: 'sha256 of the public key of each authority to trust; without pins, all of `ca`.',
  }),
  certSANs: list(text(hostRule), 32).meta({
    description:
      'Names and addresses of the node certificate besides its own. Trust grants a worker only names below its own.',
  }),
}).partial()

const link = fields({
  name: text(pattern(/^[A-Za-z0-9][\w.-]{0,14}$/, 'the name of a network link, at most 15 characters')),
  addresses: list(
    text((value) =>
      isCidr(value)
        ? undefined
        : { code: 'cidr_form', message: 'has to be an address with its length, such as 192.0.2.10/24' },
    ),
    32,
  ).optional(),
  gateway: text(ipRule).optional(),
  dns: list(text(ipRule), 8).optional(),
  mtu: z.int().min(576).max(65535).optional(),
  dhcp: z.boolean().optional(),
})

const registries = fields({
  mirrors: mapOf(hostOrPort(), fields({ endpoints: list(text(urlRule), 8).min(1) }), 64),
  auth: mapOf(
    hostOrPort(),
    fields({
      username: text(),
      password: text(),
      token: text([], 8192),
    }).partial(),
    64,
  ),
}).partial()

function hostOrPort() {
  return pattern(
    /^(?:\*|[a-z0-9][a-z0-9.-]{0,252}|\[[0-9a-f:.]+\])(?::\d{1,5})?$/,
    'a registry host, with or without port',
  )
}

const kubernetes = fields({
  version: kubernetesVersion,
  ha: fields({ endpoint: endpointText(6443), vip: text(ipRule) }).partial(),
  nodeLabels: textMap(nodeLabelNameRule, labelValueRule, 64),
  taints: list(
    fields({
      key: text(qualifiedNameRule),
      value: text(labelValueRule).optional(),
      effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']),
    }),
    32,
  ),
  providerID: text(pattern(/^[a-z0-9][a-z0-9.+-]*:\/\/[!-~]+$/, 'scheme://identifier')),
}).partial()

export const nodeFile = fields({
  path: text(filePathProblem).meta({ description: 'Absolute path below one of the allowed folders.' }),
  content: text([], CONTENT_MAX),
  encoding: z.enum(['base64', 'gzip', 'gzip+base64']).optional(),
  permissions: text(
    pattern(/^0[0-7]{3}$/, 'four octal digits that start with 0, in quotes, such as "0644"'),
  ).optional(),
  owner: text(
    pattern(/^[a-z_][a-z0-9_-]{0,31}(?::[a-z_][a-z0-9_-]{0,31})?$/, 'user or user:group'),
  ).optional(),
})

export const nodeFiles = list(nodeFile, MAX_FILES)

export const nodeConfigFields = {
  hostname: text(hostnameRule)
    .meta({ description: 'Name of the node, for good: it cannot change once the node has its certificate.' })
    .optional(),
  trust: trust.optional(),
  network: fields({ links: list(link, 32) })
    .partial()
    .optional(),
  time: fields({ servers: list(text(hostRule), 8), bootTimeout: duration })
    .partial()
    .optional(),
  disks: fields({
    state: fields({
      device: text(pattern(/^\/dev\/[\w./:+-]{1,200}$/, 'a device such as /dev/disk/by-id/…')),
      encryption: z.enum(['none', 'tpm2']),
    }).partial(),
  })
    .partial()
    .optional(),
  registries: registries.optional(),
  kubernetes: kubernetes.optional(),
  sysctls: textMap(
    pattern(/^[a-z0-9_-]+(?:[./][\w-]+)+$/, 'the name of a kernel setting such as net.ipv4.ip_forward'),
    pattern(/^[\t -~]{1,4096}$/, 'one line of printable text'),
  ).optional(),
  kernelModules: list(
    text(pattern(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'the name of a kernel module')),
    64,
  ).optional(),
  files: nodeFiles.optional(),
  upgrade: fields({
    channel: text(pattern(/^[a-z][a-z0-9-]{0,31}$/, 'a lower-case word')),
    tries: z.int().min(1).max(10),
    healthTimeout: duration,
  })
    .partial()
    .optional(),
  metadataAccess: z
    .enum(['host', 'pods', 'none'])
    .meta({
      description: 'Who may reach the metadata service of the cloud: the host alone, pods too, or nobody.',
    })
    .optional(),
  audit: fields({ maxSizeMiB: z.int().min(1).max(1024), keep: z.int().min(1).max(100) })
    .partial()
    .optional(),
  features: mapOf(pattern(/^[A-Za-z]\w{0,62}$/, 'the name of a feature'), z.boolean(), 64).optional(),
}

export const nodeConfigSchema = fields({
  apiVersion: z.literal(NODE_CONFIG_API),
  kind: z.literal('NodeConfig'),
  ...nodeConfigFields,
})

export type NodeConfigDocument = z.output<typeof nodeConfigSchema>
export type NodeFile = z.output<typeof nodeFile>
