/** All machines of a file of manifests at once: what a controller would do one by one. */
import type { Finding } from '#config'
import { err, ok, type Result } from '#kit/result'
import type { ClusterSecrets } from '#pki'
import { caCertHashes } from './ca-cert-hash.ts'
import type { Manifests } from './manifest.ts'
import { isControlPlaneMachine, renderUserData, type RenderedUserData } from './user-data.ts'

export type RenderedMachine = RenderedUserData & { readonly machineName: string }

/** What the manifests cannot know. */
export type RenderOverrides = {
  /** `host:port` of trust, for workers. */
  readonly trustEndpoints?: readonly string[]
}

/**
 * Returns the user data of every Machine with a SteleConfig, in the order of the file: the first control plane starts the cluster, all others
 * join it. Or everything that stands in the way.
 */
export function renderAll(
  manifests: Manifests,
  secrets: ClusterSecrets,
  overrides: RenderOverrides = {},
): Result<readonly RenderedMachine[], readonly Finding[]> {
  const { cluster, machines, configs } = manifests
  const pairs = machines.flatMap((machine) => {
    const ref = machine.spec.bootstrap.configRef
    const config = configs.find((one) => ref?.kind === 'SteleConfig' && one.metadata.name === ref.name)
    return config === undefined ? [] : [{ machine, config }]
  })
  const first = pairs.find(({ machine }) => isControlPlaneMachine(machine))?.machine
  const findings: Finding[] = []
  const rendered: RenderedMachine[] = []
  for (const { machine, config } of pairs) {
    const result = renderUserData({
      cluster,
      machine,
      config,
      secrets,
      trustEndpoints: overrides.trustEndpoints,
      firstControlPlane: machine === first,
      caCertHashes: caCertHashes(secrets.kubernetesCa.certificatePem),
    })
    if (result.ok) rendered.push({ machineName: machine.metadata.name, ...result.value })
    else findings.push(...result.error)
  }
  return findings.length > 0 ? err(findings) : ok(rendered)
}
