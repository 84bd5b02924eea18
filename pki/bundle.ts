/**
 * The secrets of a cluster: made once, plain JSON, the root of everything else. Whoever holds this document owns the cluster.
 *
 * Invariant: what `parseClusterSecrets` returns was checked as a whole: each certificate is an authority and its key is its pair.
 */
import { createPrivateKey, createPublicKey, randomBytes, randomInt } from 'node:crypto'
import { createAuthority, loadAuthority, type AuthorityBundle } from './authority.ts'
import { attempt, PkiFault } from './fault.ts'
import { generateKey, spkiFingerprintOfKey, type KeyAlgorithm } from './key.ts'
import { randomCredential } from './join-credential.ts'
import type { Result } from './result.ts'

export type ClusterSecrets = {
  /** Signs node and admin certificates of the node API. No Kubernetes component knows it. */
  readonly nodeCa: AuthorityBundle
  readonly joinCredential: { readonly username: string; readonly password: string }
  readonly kubernetesCa: AuthorityBundle
  readonly etcdCa: AuthorityBundle
  readonly frontProxyCa: AuthorityBundle
  /** Signs service account tokens. */
  readonly serviceAccount: { readonly publicKeyPem: string; readonly privateKeyPem: string }
  /** kubeadm's form: six characters, a dot, sixteen characters. */
  readonly bootstrapToken: string
  /** AES-256 key of `kubeadm init phase upload-certs`, 64 hexadecimal digits. */
  readonly certificateKey: string
}

const TOKEN_LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789'
const BOOTSTRAP_TOKEN = /^[a-z0-9]{6}\.[a-z0-9]{16}$/
const CERTIFICATE_KEY = /^[0-9a-f]{64}$/
const PRINTABLE = /^[\x21-\x7e]{1,256}$/

/**
 * Returns new secrets. Keys are P-256 unless asked otherwise: kubeadm, etcd and the API server take such authorities (kubeadm itself makes them
 * with `encryptionAlgorithm: ECDSA-P256`), they are made 1,500 times as fast as RSA-2048, and their certificates leave room in user data.
 * Ed25519 is for the node CA only: service account tokens cannot be signed with it.
 */
export async function createClusterSecrets(input: {
  readonly now: Date
  readonly algorithm?: KeyAlgorithm
}): Promise<ClusterSecrets> {
  const { now, algorithm = 'ec-p256' } = input
  const forKubernetes = algorithm === 'ed25519' ? 'ec-p256' : algorithm
  // Subjects as kubeadm writes them, so that its checks of an existing authority pass.
  const [nodeCa, kubernetesCa, etcdCa, frontProxyCa, serviceAccount] = await Promise.all([
    createAuthority({ commonName: 'stele-node-ca', algorithm, now }),
    createAuthority({ commonName: 'kubernetes', algorithm: forKubernetes, now }),
    createAuthority({ commonName: 'etcd-ca', algorithm: forKubernetes, now }),
    createAuthority({ commonName: 'front-proxy-ca', algorithm: forKubernetes, now }),
    generateKey(forKubernetes),
  ])
  return {
    nodeCa,
    joinCredential: randomCredential(),
    kubernetesCa,
    etcdCa,
    frontProxyCa,
    serviceAccount: {
      publicKeyPem: serviceAccount.publicKeyPem,
      privateKeyPem: serviceAccount.privateKeyPem,
    },
    bootstrapToken: `${tokenText(6)}.${tokenText(16)}`,
    certificateKey: randomBytes(32).toString('hex'),
  }
}

/** Returns the secrets in parsed JSON or YAML. Refuses with `secrets_invalid`; the message names the field and holds none of its value. */
export function parseClusterSecrets(data: unknown): Result<ClusterSecrets, PkiFault> {
  return attempt('secrets_invalid', 'the document does not hold the secrets of a cluster', () => {
    const fields = fieldsOf(data, '', [
      'nodeCa',
      'joinCredential',
      'kubernetesCa',
      'etcdCa',
      'frontProxyCa',
      'serviceAccount',
      'bootstrapToken',
      'certificateKey',
    ])
    const join = fieldsOf(fields['joinCredential'], 'joinCredential', ['username', 'password'])
    return {
      nodeCa: authorityOf(fields['nodeCa'], 'nodeCa'),
      joinCredential: {
        username: textOf(join['username'], 'joinCredential.username', PRINTABLE),
        password: textOf(join['password'], 'joinCredential.password', PRINTABLE),
      },
      kubernetesCa: authorityOf(fields['kubernetesCa'], 'kubernetesCa'),
      etcdCa: authorityOf(fields['etcdCa'], 'etcdCa'),
      frontProxyCa: authorityOf(fields['frontProxyCa'], 'frontProxyCa'),
      serviceAccount: serviceAccountOf(fields['serviceAccount']),
      bootstrapToken: textOf(fields['bootstrapToken'], 'bootstrapToken', BOOTSTRAP_TOKEN),
      certificateKey: textOf(fields['certificateKey'], 'certificateKey', CERTIFICATE_KEY),
    }
  })
}

function fieldsOf(data: unknown, path: string, names: readonly string[]): Readonly<Record<string, unknown>> {
  const at = path === '' ? 'the document' : path
  if (typeof data !== 'object' || data === null || Array.isArray(data))
    throw invalid(`${at} is not an object`)
  const fields: Readonly<Record<string, unknown>> = { ...data }
  if (Object.keys(fields).some((name) => !names.includes(name)))
    throw invalid(`${at} has a field that is not known`)
  const missing = names.find((name) => !Object.hasOwn(fields, name))
  if (missing !== undefined) throw invalid(`${path === '' ? '' : `${path}.`}${missing} is missing`)
  return fields
}

function textOf(value: unknown, path: string, pattern: RegExp): string {
  if (typeof value === 'string' && pattern.test(value)) return value
  throw invalid(`${path} is not of its form`)
}

function authorityOf(value: unknown, path: string): AuthorityBundle {
  const { certificatePem, privateKeyPem } = fieldsOf(value, path, ['certificatePem', 'privateKeyPem'])
  if (typeof certificatePem !== 'string' || typeof privateKeyPem !== 'string')
    throw invalid(`${path} is not a pair of PEM texts`)
  const bundle = { certificatePem, privateKeyPem }
  const loaded = loadAuthority(bundle)
  if (loaded.ok) return bundle
  throw invalid(`${path}: ${loaded.error.message}`, loaded.error)
}

function serviceAccountOf(value: unknown): ClusterSecrets['serviceAccount'] {
  const { publicKeyPem, privateKeyPem } = fieldsOf(value, 'serviceAccount', ['publicKeyPem', 'privateKeyPem'])
  if (typeof publicKeyPem === 'string' && typeof privateKeyPem === 'string') {
    const isPair = attempt('secrets_invalid', 'serviceAccount cannot be read', () => {
      const own = spkiFingerprintOfKey(createPrivateKey(privateKeyPem))
      return own === spkiFingerprintOfKey(createPublicKey(publicKeyPem))
    })
    if (isPair.ok && isPair.value) return { publicKeyPem, privateKeyPem }
  }
  throw invalid('serviceAccount is not a pair of keys')
}

function tokenText(length: number): string {
  return Array.from({ length }, () => TOKEN_LETTERS.charAt(randomInt(TOKEN_LETTERS.length))).join('')
}

function invalid(message: string, cause?: Error): PkiFault {
  return new PkiFault('secrets_invalid', message, cause === undefined ? {} : { cause })
}
