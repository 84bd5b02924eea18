import { dirname } from 'node:path'
import { writeAtomic } from '../store/atomic.ts'
import type { FileSystem } from '../store/file-system.ts'
import type { NodeKey, StoredCertificate } from './identity-store.ts'

/**
 * Hands the identity to a daemon that terminates TLS: one file, so that certificate and key can never be of two identities, replaced as a whole,
 * readable by its owner alone.
 */
export function publishIdentity(
  files: FileSystem,
  path: string,
  identity: { readonly node: string; readonly key: NodeKey; readonly certificate: StoredCertificate },
): void {
  files.makeDirectory(dirname(path), 0o700)
  const document = {
    version: 1,
    node: identity.node,
    certificate: identity.certificate.certificatePem,
    privateKey: identity.key.privateKeyPem,
    authorities: identity.certificate.authorities,
  }
  writeAtomic(files, path, `${JSON.stringify(document)}\n`)
}
