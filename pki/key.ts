/**
 * Keys: which are accepted, and how they are made. Only node:crypto touches them.
 *
 * Invariant: a key that leaves this file through `checkPublicKey` or `loadPrivateKey` is P-256, Ed25519 or RSA of 2048 to 4096 bits with
 * exponent 65537 (NIST SP 800-57: at least 112 bits of strength).
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  X509Certificate,
  type KeyObject,
} from 'node:crypto'
import { attempt, PkiFault, refuse } from './fault.ts'
import { ok, type Result } from './result.ts'

export type KeyAlgorithm = 'ec-p256' | 'ed25519' | 'rsa-2048' | 'rsa-3072' | 'rsa-4096'

export type KeyPair = {
  /** PKCS #8. */
  readonly privateKeyPem: string
  /** SubjectPublicKeyInfo. */
  readonly publicKeyPem: string
  readonly algorithm: KeyAlgorithm
}

const MAX_KEY_PEM = 16 * 1024
const EXPONENT = 65537n
const P256_SPKI_BYTES = 91
const encoding = {
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
} as const

/** Returns a new key pair; made off the event loop. */
export async function generateKey(algorithm: KeyAlgorithm = 'ec-p256'): Promise<KeyPair> {
  const { publicKey, privateKey } = await generatePair(algorithm)
  return { privateKeyPem: privateKey, publicKeyPem: publicKey, algorithm }
}

/**
 * Returns which of the accepted algorithms a public key is of. An RSA key between two sizes counts as the smaller. Refuses with
 * `key_unsupported`, `key_weak`, `key_too_large`.
 */
export function checkPublicKey(key: KeyObject): Result<KeyAlgorithm, PkiFault> {
  if (key.type !== 'public') return refuse('key_invalid', 'the key is not a public key')
  switch (key.asymmetricKeyType) {
    case 'ed25519':
      return ok('ed25519')
    case 'ec':
      return checkEc(key)
    case 'rsa':
      return checkRsa(key)
    default:
      return refuse('key_unsupported', 'the key is none of P-256, Ed25519 and RSA')
  }
}

/** Returns the private key of an unencrypted PEM text. Refuses with `key_invalid` and what `checkPublicKey` refuses with. */
export function loadPrivateKey(pem: string): Result<KeyObject, PkiFault> {
  if (pem.length > MAX_KEY_PEM) return refuse('key_invalid', 'the private key is too long')
  const key = attempt('key_invalid', 'the private key cannot be read', () => readPrivateKey(pem))
  if (!key.ok) return key
  const checked = checkPublicKey(createPublicKey(key.value))
  return checked.ok ? key : checked
}

/** Returns `sha256:<hex>` over the SubjectPublicKeyInfo of a public or private key: the form of kubeadm's caCertHashes. */
export function spkiFingerprintOfKey(key: KeyObject): string {
  return `sha256:${createHash('sha256').update(spkiOf(key)).digest('hex')}`
}

/** As `spkiFingerprintOfKey`, of the key in a certificate. Throws PkiFault `certificate_invalid`. */
export function spkiFingerprintOfCertificate(pem: string): string {
  const key = attempt(
    'certificate_invalid',
    'the certificate cannot be read',
    () => new X509Certificate(pem).publicKey,
  )
  if (!key.ok) throw key.error
  return spkiFingerprintOfKey(key.value)
}

/** Returns the SHA-256 of a certificate's DER, as lower-case hexadecimal. */
export function certificateFingerprint(der: Buffer): string {
  return createHash('sha256').update(der).digest('hex')
}

/** Returns the DER of the SubjectPublicKeyInfo of a public or private key. */
export function spkiOf(key: KeyObject): Buffer {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key
  return publicKey.export({ type: 'spki', format: 'der' })
}

function checkEc(key: KeyObject): Result<KeyAlgorithm, PkiFault> {
  if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') {
    return refuse('key_unsupported', 'the curve of the key is not P-256')
  }
  // RFC 5480 §2.2: the uncompressed form must be supported, the other may be. Two forms would give one key two fingerprints.
  if (spkiOf(key).length === P256_SPKI_BYTES) return ok('ec-p256')
  return refuse('key_unsupported', 'the point of the key is in compressed form')
}

function checkRsa(key: KeyObject): Result<KeyAlgorithm, PkiFault> {
  const { modulusLength = 0, publicExponent } = key.asymmetricKeyDetails ?? {}
  if (modulusLength < 2048) return refuse('key_weak', 'the RSA key has fewer than 2048 bits')
  if (publicExponent !== EXPONENT) return refuse('key_weak', 'the exponent of the RSA key is not 65537')
  if (modulusLength > 4096) return refuse('key_too_large', 'the RSA key has more than 4096 bits')
  if (modulusLength === 4096) return ok('rsa-4096')
  return ok(modulusLength >= 3072 ? 'rsa-3072' : 'rsa-2048')
}

function readPrivateKey(pem: string): KeyObject {
  // An encrypted key is an error of node:crypto here, as no passphrase is given; it never asks.
  const key = createPrivateKey({ key: pem, format: 'pem' })
  if (key.type !== 'private') throw new PkiFault('key_invalid', 'the key is not a private key')
  return key
}

type PemPair = { readonly publicKey: string; readonly privateKey: string }

async function generatePair(algorithm: KeyAlgorithm): Promise<PemPair> {
  switch (algorithm) {
    case 'ec-p256':
      return new Promise((resolve, reject) => {
        generateKeyPair('ec', { namedCurve: 'prime256v1', ...encoding }, settle(resolve, reject))
      })
    case 'ed25519':
      return new Promise((resolve, reject) => {
        generateKeyPair('ed25519', encoding, settle(resolve, reject))
      })
    case 'rsa-2048':
      return generateRsa(2048)
    case 'rsa-3072':
      return generateRsa(3072)
    case 'rsa-4096':
      return generateRsa(4096)
  }
}

async function generateRsa(modulusLength: number): Promise<PemPair> {
  const options = { modulusLength, publicExponent: Number(EXPONENT), ...encoding }
  return new Promise((resolve, reject) => {
    generateKeyPair('rsa', options, settle(resolve, reject))
  })
}

function settle(resolve: (pair: PemPair) => void, reject: (error: Error) => void) {
  return (error: Error | null, publicKey: string, privateKey: string): void => {
    if (error === null) resolve({ publicKey, privateKey })
    else reject(error)
  }
}
