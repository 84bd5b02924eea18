/** Texts and short cuts that the tests of the node configuration share. Keys are made anew in every run. */
import { createAuthority } from '#pki'
import { parseNodeConfiguration, type Finding, type NodeConfiguration } from '#config'

export const NODE = 'apiVersion: stele.dev/v1alpha1\nkind: NodeConfig\n'
export const INIT = 'apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\n'
export const CLUSTER = 'apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n'
export const JOIN =
  'apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\ndiscovery:\n  file:\n    kubeConfigPath: /a\n'
export const KUBELET = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n'

export const now = new Date('2026-12-01T00:00:00Z')

export const authority = await createAuthority({ commonName: 'test authority', now })

/** PEM as a block of YAML, `by` spaces in. */
export const block = (pem: string, by: number) =>
  `|\n${pem
    .trimEnd()
    .split('\n')
    .map((line) => `${' '.repeat(by)}${line}`)
    .join('\n')}\n`

export const TRUST_CA = `  ca: ${block(authority.certificatePem, 4)}`
export const TRUST_KEY = `  caKey: ${block(authority.privateKeyPem, 4)}`

export function accept(text: string): NodeConfiguration {
  const parsed = parseNodeConfiguration(text, { file: 'f' })
  if (!parsed.ok) throw new Error(`refused: ${JSON.stringify(parsed.error, undefined, 1)}`)
  return parsed.value
}

export function refuse(text: string): readonly Finding[] {
  const parsed = parseNodeConfiguration(text, { file: 'f' })
  if (parsed.ok) throw new Error('accepted')
  return parsed.error
}

/** `code path line:column` of every finding. */
export const brief = (findings: readonly Finding[]) =>
  findings.map((one) => `${one.code} ${one.path || '-'} ${one.line}:${one.column}`)
