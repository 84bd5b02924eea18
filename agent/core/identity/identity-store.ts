/**
 * The node's key and certificate on STATE.
 *
 * Invariants: the key is made once, made here, and never leaves the node; a certificate is kept only with the key it was issued for; both
 * survive a crash at any step.
 */
import { createPublicKey } from 'node:crypto'
import { join } from 'node:path'
import { z } from 'zod'
import { generateKey, loadPrivateKey, spkiFingerprintOfCertificate, spkiFingerprintOfKey } from '#pki'
import type { KeyObject } from 'node:crypto'
import type { FileSystem } from '../store/file-system.ts'
import { JsonFile } from '../store/json-file.ts'

const keySchema = z.strictObject({ privateKeyPem: z.string() })
const certificateSchema = z.strictObject({
  certificatePem: z.string(),
  authorities: z.array(z.string()).min(1),
})
type StoredKey = z.infer<typeof keySchema>
export type StoredCertificate = z.infer<typeof certificateSchema>

export type NodeKey = { readonly privateKeyPem: string; readonly privateKey: KeyObject }

export class IdentityStore {
  readonly #key: JsonFile<StoredKey>
  readonly #certificate: JsonFile<StoredCertificate>

  constructor(files: FileSystem, directory: string) {
    this.#key = new JsonFile(files, join(directory, 'key.json'), keySchema)
    this.#certificate = new JsonFile(files, join(directory, 'certificate.json'), certificateSchema)
  }

  /** Paths of what was found damaged when it was read. */
  get damaged(): readonly string[] {
    return [...this.#key.damaged, ...this.#certificate.damaged]
  }

  /** Returns the node's key, which is durable before it is used for the first time. */
  async key(): Promise<NodeKey> {
    const stored = this.#key.read()
    if ('value' in stored) {
      const loaded = loadPrivateKey(stored.value.privateKeyPem)
      if (loaded.ok) return { privateKeyPem: stored.value.privateKeyPem, privateKey: loaded.value }
    }
    const made = await generateKey()
    this.#key.write({ privateKeyPem: made.privateKeyPem })
    const loaded = loadPrivateKey(made.privateKeyPem)
    if (!loaded.ok) throw loaded.error
    return { privateKeyPem: made.privateKeyPem, privateKey: loaded.value }
  }

  /** Returns the stored certificate, or undefined when there is none for this key. */
  certificate(key: NodeKey): StoredCertificate | undefined {
    const stored = this.#certificate.read()
    if (!('value' in stored)) return undefined
    try {
      const own = spkiFingerprintOfKey(createPublicKey(key.privateKey))
      return spkiFingerprintOfCertificate(stored.value.certificatePem) === own ? stored.value : undefined
    } catch {
      return undefined
    }
  }

  keep(certificate: StoredCertificate): void {
    this.#certificate.write(certificate)
  }
}
