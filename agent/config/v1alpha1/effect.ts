/**
 * What changing each part of a configuration takes. A path without a row has no effect by accident: the nearest row above it counts, and a test
 * walks the schema and fails when there is none.
 */
export type Effect = 'live' | 'reboot' | 'immutable'

export const effects: Readonly<Record<string, Effect>> = {
  hostname: 'immutable',
  'trust.ca': 'live',
  'trust.caKey': 'reboot',
  'trust.endpoints': 'live',
  'trust.username': 'live',
  'trust.password': 'live',
  'trust.caPins': 'live',
  'trust.certSANs': 'live',
  network: 'reboot',
  time: 'live',
  disks: 'immutable',
  registries: 'live',
  'kubernetes.version': 'reboot',
  'kubernetes.ha': 'reboot',
  'kubernetes.nodeLabels': 'reboot',
  'kubernetes.taints': 'reboot',
  'kubernetes.providerID': 'immutable',
  sysctls: 'live',
  kernelModules: 'reboot',
  files: 'reboot',
  upgrade: 'live',
  metadataAccess: 'reboot',
  audit: 'live',
  features: 'reboot',
}

/** The effect of a change at `path` (dots between names), by the nearest row at or above it; undefined without any. */
export function effectOf(path: string): Effect | undefined {
  for (let at = path; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('.')))) {
    if (Object.hasOwn(effects, at)) return effects[at]
  }
  return undefined
}
