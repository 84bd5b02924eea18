/**
 * Configurations as they may be shown.
 *
 * Invariant: what cannot be read is not shown at all; comments are never shown, since nobody checks what people write into them.
 */
import { printYaml } from './document/print.ts'
import { MASK } from './mask.ts'
import { readConfiguration, type NodeConfiguration } from './node-configuration.ts'

/** Paths whose values are secret; `*` is any one step. A row for a mapping or list masks the text in it. */
const SECRET: readonly string[] = [
  'trust.caKey',
  'trust.password',
  'registries.auth.*',
  'files.*.content',
  'bootstrapTokens.*.token',
  'certificateKey',
  'discovery.bootstrapToken.token',
  'discovery.tlsBootstrapToken',
  'controlPlane.certificateKey',
  'apiServer.extraEnvs.*.value',
  'controllerManager.extraEnvs.*.value',
  'scheduler.extraEnvs.*.value',
  'etcd.local.extraEnvs.*.value',
  // KubeletConfiguration: headers that may carry a credential.
  'staticPodURLHeader',
]

const rows = SECRET.map((row) => row.split('.'))

/** The same configuration with `[secret]` in place of every secret. */
export function redact(configuration: NodeConfiguration): NodeConfiguration {
  return {
    node: redactData(configuration.node),
    kubeadm: configuration.kubeadm.map((document) => redactData(document)),
    role: configuration.role,
  }
}

/** The documents of `text` printed anew with `[secret]` in place of every secret; a one-line note when `text` is not valid. */
export function redactText(text: string): string {
  const written = readConfiguration(text, { file: '' })
  if (!written.ok) return '# not a valid node configuration: nothing of it is shown\n'
  return printYaml(written.value.order.map((document) => redactData(document)))
}

/** Any document of a configuration with its secrets masked: the shape stays, text is replaced by text. */
export function redactData<T>(document: T): T {
  // Masking replaces text by text and nothing else, so the shape is that of T.
  return mask(document, []) as T
}

function mask(value: unknown, path: readonly string[]): unknown {
  if (rows.some((row) => covers(row, path))) return maskAll(value)
  if (Array.isArray(value)) return value.map((item, index) => mask(item, [...path, String(index)]))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, mask(child, [...path, key])]))
}

function maskAll(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(maskAll)
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, maskAll(child)]))
  }
  return value === undefined ? undefined : MASK
}

function covers(row: readonly string[], path: readonly string[]): boolean {
  return row.length === path.length && row.every((step, index) => step === '*' || step === path[index])
}
