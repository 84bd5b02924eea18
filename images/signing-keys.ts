/**
 * The folder of keys that sign an image for Secure Boot: read and matched before the first step, as a key that does not fit would be found minutes
 * later by a tool that cannot say why.
 */
import { createHash, createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto'
import { realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '#kit/fault'
import { ImageFault } from './fault.ts'
import { readPlainFile } from './plain-file.ts'

/** Files of the folder: the key that signs, and its certificate, which the firmware must have in `db`. */
const KEY = 'db.key'
const CERTIFICATE = 'db.crt'
const HINT = `it must hold ${KEY} (PEM, RSA, not encrypted, read by its owner alone) and ${CERTIFICATE} (PEM), the certificate that the firmware trusts`

export type SigningKeys = {
  /** Paths of the files themselves, where links led to them. */
  readonly key: string
  readonly certificate: string
  /** SHA-256 of the certificate file, in hex: an image is built again when it is another. */
  readonly signer: string
}

/** Throws ImageFault `input_missing` for a file that is not there, and `refused` for one that cannot sign. */
export function openSigningKeys(folder: string): SigningKeys {
  const [key, certificate] = [KEY, CERTIFICATE].map((name) => locate(folder, name)) as [string, string] // two names, two paths
  const text = read(certificate, CERTIFICATE)
  const owner = readCertificate(text)
  const others = statSync(key).mode & 0o077
  if (others !== 0) throw refused(`others than its owner may use ${key}`, `chmod 600 ${key}`)
  if (!owner.checkPrivateKey(readKey(read(key, KEY)))) {
    throw refused(`${KEY} is not the key of ${CERTIFICATE} (${owner.subject.replaceAll('\n', ', ')})`)
  }
  return { key, certificate, signer: createHash('sha256').update(text).digest('hex') }
}

function locate(folder: string, name: string): string {
  try {
    return realpathSync(join(folder, name))
  } catch (cause) {
    const reason =
      codeOf(cause) === 'ENOENT' ? `has no ${name}` : `cannot be read: ${codeOf(cause) ?? 'unknown'}`
    throw new ImageFault('input_missing', `the folder of signing keys ${reason}`, { hint: HINT, cause })
  }
}

function read(file: string, name: string): Buffer {
  try {
    return readPlainFile(file)
  } catch (cause) {
    throw refused(`${name} cannot be used: ${cause instanceof Error ? cause.message : String(cause)}`)
  }
}

function readCertificate(text: Buffer): X509Certificate {
  try {
    return new X509Certificate(text)
  } catch {
    throw refused(`${CERTIFICATE} is no certificate`)
  }
}

function readKey(text: Buffer): KeyObject {
  // Both RFC 7468's label and the header of RFC 1421 hold the word.
  if (text.includes('ENCRYPTED')) {
    throw refused(
      `${KEY} is encrypted`,
      'openssl pkey -in ENCRYPTED -out db.key; a build cannot ask for its password',
    )
  }
  let key: KeyObject
  try {
    key = createPrivateKey(text)
  } catch {
    // What OpenSSL says of a key may quote it, so its words stay here.
    throw refused(`${KEY} is no private key`)
  }
  // UEFI specification 2.10, section 32.2.4: firmware verifies images by RSA.
  if (key.asymmetricKeyType !== 'rsa')
    throw refused(`${KEY} is a key of ${key.asymmetricKeyType}, not of RSA`)
  return key
}

function refused(message: string, hint = HINT): ImageFault {
  return new ImageFault('refused', message, { hint })
}
