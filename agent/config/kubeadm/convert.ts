/** kubeadm v1beta4 → v1beta3, for Kubernetes 1.22 to 1.30. What the older version cannot say is left out, as Cluster API's provider does. */
import type { z } from 'zod'
import type * as v1beta3 from './v1beta3.ts'
import type * as v1beta4 from './v1beta4.ts'
import { V1BETA3 } from './v1beta3.ts'

type Old = z.output<
  typeof v1beta3.initConfiguration | typeof v1beta3.joinConfiguration | typeof v1beta3.clusterConfiguration
>
/** A kubeadm document as kubeadm 1.31 and later reads it. */
export type KubeadmV1beta4Document = z.output<
  typeof v1beta4.initConfiguration | typeof v1beta4.joinConfiguration | typeof v1beta4.clusterConfiguration
>

/** Fields without a counterpart in v1beta3. */
const DROPPED = new Set([
  'extraEnvs',
  'imagePullSerial',
  'dryRun',
  'encryptionAlgorithm',
  'certificateValidityPeriod',
  'caCertificateValidityPeriod',
  'proxy',
  'disabled',
  'timeouts',
])

/** Returns the same document in v1beta3: argument lists become maps (the last of a name wins), timeouts go to their old places. */
export function toV1beta3(document: KubeadmV1beta4Document): Old {
  const converted: Record<string, unknown> = { ...strip({ ...document }), apiVersion: V1BETA3 }
  if (document.kind === 'JoinConfiguration' && document.timeouts?.discovery !== undefined) {
    converted['discovery'] = { ...document.discovery, timeout: document.timeouts.discovery }
  }
  // Every key that the two versions do not share was dropped or converted above; a test parses the result.
  return converted as Old
}

function strip(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(value).flatMap(([key, child]): [string, unknown][] => {
    if (DROPPED.has(key) || child === undefined) return []
    if (key === 'extraArgs' || key === 'kubeletExtraArgs') return [[key, argumentMap(child)]]
    return [[key, isMapping(child) ? strip(child) : child]]
  })
  return Object.fromEntries(entries)
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function argumentMap(list: unknown): Record<string, string> {
  // The schema of v1beta4 has made sure of the entries.
  const entries = list as readonly { readonly name: string; readonly value: string }[]
  return Object.fromEntries(entries.map(({ name, value }) => [name, value]))
}
