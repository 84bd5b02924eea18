import { createHash, X509Certificate } from 'node:crypto'

/**
 * kubeadm's pins of every certificate of a PEM bundle: `sha256:` and hex over the public key (RFC 7469 section 2.4). During a rotation the bundle
 * holds two, and a joining node accepts either. Throws when a certificate cannot be read.
 */
export function caCertHashes(bundle: string): readonly string[] {
  const blocks = bundle.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? []
  return blocks.map((block) => {
    const key = new X509Certificate(block).publicKey.export({ type: 'spki', format: 'der' })
    return `sha256:${createHash('sha256').update(key).digest('hex')}`
  })
}
