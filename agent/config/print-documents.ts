import { printYaml } from './document/print.ts'
import type { KubeadmDocument } from './kubeadm/document.ts'
import type { NodeConfigDocument } from './v1alpha1/schema.ts'

/**
 * The documents as one YAML text that `parseNodeConfiguration` and kubeadm read back equal. Text is never joined to text: every document is
 * printed from its data, after a separator of its own.
 */
export function printDocuments(documents: readonly (KubeadmDocument | NodeConfigDocument)[]): string {
  return printYaml(documents)
}
