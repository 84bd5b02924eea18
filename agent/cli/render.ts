/** Manifests of a cluster → user data of its machines, through the same pure code that the bootstrap provider runs. */
import type { Finding } from '#config'
import type { ClusterSecrets } from '#pki'
import { CliFault } from './fault.ts'

export type RenderedMachine = { readonly machine: string; readonly role: string; readonly userData: string }

/** The findings of a document that was refused. */
export class RefusedManifests extends CliFault {
  readonly findings: readonly Finding[]

  constructor(label: string, findings: readonly Finding[]) {
    const problems = findings.length === 1 ? '1 problem' : `${findings.length} problems`
    super('invalid_document', `${label} has ${problems}`)
    this.findings = findings
  }
}

/** User data of every machine of the manifests. Throws RefusedManifests with every problem at once. */
export async function renderText(
  text: string,
  label: string,
  secrets: ClusterSecrets,
): Promise<readonly RenderedMachine[]> {
  const { parseManifests, renderAll } = await import('#render')
  const manifests = parseManifests(text, { file: label })
  if (!manifests.ok) throw new RefusedManifests(label, manifests.error)
  const rendered = renderAll(manifests.value, secrets)
  if (!rendered.ok) throw new RefusedManifests(label, rendered.error)
  return rendered.value.map(({ machineName, role, userData }) => ({ machine: machineName, role, userData }))
}
