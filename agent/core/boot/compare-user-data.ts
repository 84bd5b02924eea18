import type { Node } from '../node.ts'
import { readUserData, type SourceRecord } from '../user-data.ts'
import type { BootRecord } from './boot-record.ts'
import { acceptUserData, digestOfDocument, mayReplaceConfiguration } from './accept-user-data.ts'

/**
 * On a boot that has a saved configuration: looks at the sources all the same, so that GetBootSource tells what they hold, and makes a finding
 * when they hold something else than at the first boot. What they hold is not applied, the saved configuration wins, unless that one has never
 * led to a certificate.
 */
export async function compareUserData(
  node: Node,
  record: BootRecord,
  options: { readonly signal: AbortSignal },
): Promise<void> {
  const delivered = await readUserData(node.ports.userData, { clock: node.clock, signal: options.signal })
  const differs =
    delivered.used !== undefined && digestOfDocument(delivered.used.document) !== record.userDataDigest
  if (delivered.used !== undefined && differs && mayReplaceConfiguration(node)) {
    node.setSources(delivered.sources)
    acceptUserData(node, record, delivered.used.document)
    return
  }
  const reason = differs
    ? 'differs from the first boot; the saved configuration wins'
    : 'the saved configuration wins'
  const others = delivered.sources.map((source) =>
    source.verdict === 'used' ? { ...source, verdict: 'skipped' as const, reasons: [reason] } : source,
  )
  node.setSources([savedSource(node), ...others])
  node.setFinding(
    'user_data_changed',
    differs && record.userDataDigest !== undefined
      ? {
          message: 'the user data is not the one this node was made from',
          remedy: 'apply it, or make a new machine',
        }
      : undefined,
  )
}

function savedSource(node: Node): SourceRecord {
  const version = node.active?.version
  const found =
    version === undefined
      ? { bytes: 0, digest: '', reasons: [] }
      : {
          bytes: Buffer.byteLength(version.document),
          digest: version.digest,
          reasons: [`revision ${version.revision}`],
        }
  return {
    kind: 'state',
    location: 'state',
    ...found,
    layers: [],
    verdict: 'used',
    readAt: node.boot.bootedAt,
    durationMs: 0,
  }
}
