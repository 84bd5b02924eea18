/** PEM in a configuration: certificates and a private key are parsed when they are read, not when they are first needed. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import type { Problem } from '../finding.ts'

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g
const MAX_CERTIFICATES = 16

/** Certificates of a bundle, text around them ignored; undefined when one of them cannot be read. */
export function readCertificates(bundle: string): readonly X509Certificate[] | undefined {
  const blocks = bundle.match(CERTIFICATE) ?? []
  try {
    return blocks.map((block) => new X509Certificate(block))
  } catch {
    return undefined
  }
}

/** What is wrong with a bundle of authorities, if anything is. An empty one verifies nothing and is refused. */
export function caBundleProblem(bundle: string): Problem | undefined {
  if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(bundle)) {
    return { code: 'private_key_in_ca', message: 'holds a private key', hint: 'put only certificates here' }
  }
  const certificates = readCertificates(bundle)
  if (certificates === undefined)
    return { code: 'pem_form', message: 'holds a certificate that cannot be read' }
  if (certificates.length === 0) {
    return { code: 'pem_form', message: 'has to hold at least one PEM certificate' }
  }
  if (certificates.length > MAX_CERTIFICATES) {
    return { code: 'out_of_range', message: `has to hold at most ${MAX_CERTIFICATES} certificates` }
  }
  if (certificates.some((one) => !one.ca)) {
    return { code: 'not_a_ca', message: 'holds a certificate that is not an authority (CA:TRUE is missing)' }
  }
  return undefined
}

/** What is wrong with a private key in PEM, if anything is. */
export function privateKeyProblem(pem: string): Problem | undefined {
  try {
    createPrivateKey(pem)
    return undefined
  } catch {
    return { code: 'pem_form', message: 'has to be one unencrypted private key in PEM' }
  }
}

/** True when one of the certificates is of this key. */
export function keyBelongsTo(pem: string, certificates: readonly X509Certificate[]): boolean {
  const key = createPrivateKey(pem)
  return certificates.some((one) => one.checkPrivateKey(key))
}
