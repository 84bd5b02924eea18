/** Every default of a NodeConfig. */
import { NODE_CONFIG_API, type NodeConfigDocument, type NodeFile } from './schema.ts'

const BOOT_TIMEOUT = '60s'
const METADATA_ACCESS = 'host'
const UPGRADE = { channel: 'stable', tries: 3, healthTimeout: '10m' } as const
const AUDIT = { maxSizeMiB: 8, keep: 4 } as const
const STATE_DISK = { encryption: 'none' } as const
const FILE = { permissions: '0600', owner: 'root:root' } as const

/** A NodeConfig document with its defaults filled in. */
export function withDefaults(document: NodeConfigDocument) {
  return {
    ...document,
    time: { bootTimeout: BOOT_TIMEOUT, ...document.time },
    disks: { ...document.disks, state: { ...STATE_DISK, ...document.disks?.state } },
    files: (document.files ?? []).map((file: NodeFile) => ({ ...FILE, ...file })),
    upgrade: { ...UPGRADE, ...document.upgrade },
    metadataAccess: document.metadataAccess ?? METADATA_ACCESS,
    audit: { ...AUDIT, ...document.audit },
  }
}

export type NodeConfig = ReturnType<typeof withDefaults>

/** What a node without a NodeConfig document has. */
export function emptyNodeConfig(): NodeConfig {
  return withDefaults({ apiVersion: NODE_CONFIG_API, kind: 'NodeConfig' })
}
