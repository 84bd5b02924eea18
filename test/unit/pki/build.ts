/** Builders for the tests of the PKI: keys made once, and requests of any shape, honest or not. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import { constructed, contextTag, oid, primitive, sequence, tags, wholeBits } from '../../../pki/der.ts'
import { encodeSubject } from '../../../pki/distinguished-name.ts'
import { encodeExtension, extensionOids } from '../../../pki/extension.ts'
import {
  createAuthority,
  loadAuthority,
  type Authority,
  type KeyAlgorithm,
  type ParsedCsr,
} from '../../../pki/index.ts'
import { parseCsr } from '../../../pki/index.ts'
import { checkPublicKey, generateKey, spkiOf } from '../../../pki/key.ts'
import { encodePem } from '../../../pki/pem.ts'
import type { Result } from '../../../pki/result.ts'
import { signatureAlgorithmOf } from '../../../pki/signature.ts'
import { encodeDer, readDer, type Der } from '../../../pki/x509-provider.ts'

export const NOW = new Date('2026-06-01T12:00:00Z')
export const SECOND = 1000
export const DAY = 86_400 * SECOND

export function valueOf<T>(result: Result<T, Error>): T {
  if (result.ok) return result.value
  throw result.error
}

/** The code of a refusal, or `accepted`. */
export function codeOf(result: Result<unknown, { readonly code: string }>): string {
  return result.ok ? 'accepted' : result.error.code
}

export async function newKey(algorithm: KeyAlgorithm = 'ec-p256'): Promise<KeyObject> {
  return createPrivateKey((await generateKey(algorithm)).privateKeyPem)
}

export function weakRsa(options: { modulusLength?: number; publicExponent?: number }): KeyObject {
  return generateKeyPairSync('rsa', { modulusLength: 2048, ...options }).privateKey
}

export async function newAuthority(
  algorithm: KeyAlgorithm = 'ec-p256',
  now = NOW,
): Promise<Authority & { pem: string }> {
  const bundle = await createAuthority({ commonName: 'test-ca', algorithm, now })
  return { ...valueOf(loadAuthority(bundle)), pem: bundle.certificatePem }
}

export type CsrShape = {
  readonly key: KeyObject
  readonly commonName?: string
  readonly organizations?: readonly string[]
  /** GeneralNames as they are. */
  readonly names?: readonly Der[]
  readonly extensions?: readonly Der[]
  readonly algorithm?: Der
  readonly attributes?: readonly Der[]
}

const EXTENSION_REQUEST = '1.2.840.113549.1.9.14'

export const dns = (name: string) => primitive(contextTag(2, 'primitive'), Buffer.from(name, 'latin1'))
export const ip = (...octets: readonly number[]) => primitive(contextTag(7, 'primitive'), Buffer.from(octets))
export const uri = (text: string) => primitive(contextTag(6, 'primitive'), Buffer.from(text))
export const email = (text: string) => primitive(contextTag(1, 'primitive'), Buffer.from(text))

/** DER of a request that says whatever it is told to, correctly signed. */
export function buildCsr(shape: CsrShape): Buffer {
  const { key, names = [], extensions = [] } = shape
  const publicKey = createPublicKey(key)
  const all = [
    ...(names.length > 0 ? [encodeExtension(extensionOids.subjectAltName, sequence(...names))] : []),
    ...extensions,
  ]
  const request = sequence(oid(EXTENSION_REQUEST), constructed(tags.set, [sequence(...all)]))
  const subject = {
    ...(shape.commonName === undefined ? {} : { commonName: shape.commonName }),
    organizations: shape.organizations ?? [],
  }
  const info = sequence(
    primitive(tags.integer, Buffer.from([0])),
    encodeSubject(subject),
    readDer(spkiOf(publicKey)),
    constructed(contextTag(0, 'constructed'), shape.attributes ?? (all.length > 0 ? [request] : [])),
  )
  const signature = sign(key.asymmetricKeyType === 'ed25519' ? null : 'sha256', encodeDer(info), key)
  const checked = checkPublicKey(publicKey)
  const algorithm = shape.algorithm ?? signatureAlgorithmOf(checked.ok ? checked.value : 'rsa-2048')
  return encodeDer(sequence(info, algorithm, wholeBits(signature)))
}

export function csrPem(der: Buffer): string {
  return encodePem('CERTIFICATE REQUEST', der)
}

export function parsedCsr(shape: CsrShape): ParsedCsr {
  return valueOf(parseCsr(csrPem(buildCsr(shape))))
}
