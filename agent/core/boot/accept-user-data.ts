import { createHash } from 'node:crypto'
import type { Node } from '../node.ts'
import { commit } from '../store/committed.ts'
import { readUserData } from '../user-data.ts'
import type { BootRecord } from './boot-record.ts'

export const BY_USER_DATA = 'user data'

/** `sha256:…` of a configuration document, as status and Get show it. */
export function digestOfDocument(document: string): string {
  return `sha256:${createHash('sha256').update(document).digest('hex')}`
}

/** Makes the document that a source delivered the configuration of the node, durably. */
export function acceptUserData(node: Node, record: BootRecord, document: string): void {
  const digest = digestOfDocument(document)
  record.setUserDataDigest(digest)
  node.commit(
    commit(node.committed, {
      document,
      digest,
      appliedAt: node.clock.now().toISOString(),
      appliedBy: BY_USER_DATA,
    }),
  )
  node.events.emit({
    code: 'config.applied',
    message: 'The user data is the configuration.',
    details: { digest, revision: String(node.committed.counter) },
  })
}

/**
 * Whether other user data may still replace the configuration: only while it came from user data and has never led to a certificate. Such a node
 * has no API by which its configuration could be mended; once it held a certificate the saved configuration wins for ever.
 */
export function mayReplaceConfiguration(node: Node): boolean {
  return node.identity === undefined && node.active?.version.appliedBy === BY_USER_DATA
}

/** Reads the sources again and takes what they hold now, if it differs and may still replace the configuration. */
export async function takeChangedUserData(
  node: Node,
  record: BootRecord,
  options: { readonly signal: AbortSignal },
): Promise<void> {
  if (!mayReplaceConfiguration(node)) return
  const delivered = await readUserData(node.ports.userData, { clock: node.clock, signal: options.signal })
  const document = delivered.used?.document
  if (document === undefined || digestOfDocument(document) === record.userDataDigest) return
  // An administrator or a late answer of a control plane may have been faster than the sources.
  if (!mayReplaceConfiguration(node)) return
  node.setSources(delivered.sources)
  acceptUserData(node, record, document)
}
