/** Signature algorithms: which belongs to which key, and how node:crypto is asked for it. SHA-256 and longer only. */
import { sign, verify, type KeyObject } from 'node:crypto'
import { primitive, childrenOf, contentOf, expectEnd, oid, oidOf, sequence, tags } from './der.ts'
import { PkiFault } from './fault.ts'
import type { KeyAlgorithm } from './key.ts'
import type { Der } from './x509-provider.ts'

type KeyKind = 'ec' | 'ed25519' | 'rsa'
type SignatureAlgorithm = { readonly key: KeyKind; readonly hash: 'sha256' | 'sha384' | 'sha512' | null }

const algorithms: Readonly<Record<string, SignatureAlgorithm>> = {
  '1.2.840.10045.4.3.2': { key: 'ec', hash: 'sha256' },
  '1.2.840.10045.4.3.3': { key: 'ec', hash: 'sha384' },
  '1.2.840.10045.4.3.4': { key: 'ec', hash: 'sha512' },
  '1.3.101.112': { key: 'ed25519', hash: null },
  '1.2.840.113549.1.1.11': { key: 'rsa', hash: 'sha256' },
  '1.2.840.113549.1.1.12': { key: 'rsa', hash: 'sha384' },
  '1.2.840.113549.1.1.13': { key: 'rsa', hash: 'sha512' },
}

/** Returns the AlgorithmIdentifier that keys of this algorithm sign with here: parameters absent, or NULL for RSA (RFC 5758, 8410, 4055). */
export function signatureAlgorithmOf(key: KeyAlgorithm): Der {
  switch (key) {
    case 'ec-p256':
      return sequence(oid('1.2.840.10045.4.3.2'))
    case 'ed25519':
      return sequence(oid('1.3.101.112'))
    case 'rsa-2048':
    case 'rsa-3072':
    case 'rsa-4096':
      return sequence(oid('1.2.840.113549.1.1.11'), primitive(tags.null, Buffer.alloc(0)))
  }
}

/** Returns the signature of `data` with the algorithm of `signatureAlgorithmOf`. */
export function signData(key: KeyObject, data: Buffer): Buffer {
  return sign(key.asymmetricKeyType === 'ed25519' ? null : 'sha256', data, key)
}

/** The opposite of `signData`; false for every signature that is not one. */
export function verifyData(key: KeyObject, data: Buffer, signature: Buffer): boolean {
  return verify(key.asymmetricKeyType === 'ed25519' ? null : 'sha256', data, key, signature)
}

/** Whether `signature` is one of `data` by the named algorithm. Throws PkiFault `csr_algorithm` for an algorithm that is not of this key. */
export function verifyNamed(
  named: Der | undefined,
  key: KeyObject,
  data: Buffer,
  signature: Buffer,
): boolean {
  const fields = childrenOf(named, tags.sequence)
  const id = oidOf(fields[0])
  const algorithm = Object.hasOwn(algorithms, id) ? algorithms[id] : undefined
  if (algorithm === undefined || algorithm.key !== key.asymmetricKeyType) {
    throw new PkiFault('csr_algorithm', 'the signature algorithm is not accepted for this key')
  }
  if (algorithm.key === 'rsa' && contentOf(fields[1], tags.null).length > 0) {
    throw new PkiFault('der_invalid', 'the parameters of the algorithm are not NULL')
  }
  expectEnd(fields, algorithm.key === 'rsa' ? 2 : 1)
  return verify(algorithm.hash, data, key, signature)
}
