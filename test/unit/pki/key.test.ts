import { createPublicKey, ECDH, generateKeyPairSync, X509Certificate } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  certificateFingerprint,
  checkPublicKey,
  createAuthority,
  generateKey,
  loadPrivateKey,
  spkiFingerprintOfCertificate,
  spkiFingerprintOfKey,
} from '../../../pki/index.ts'
import { childrenOf, sequence, tags, wholeBits, wholeBitsOf } from '../../../pki/der.ts'
import { spkiOf } from '../../../pki/key.ts'
import { encodeDer, readDer } from '../../../pki/x509-provider.ts'
import { codeOf, newKey, NOW, valueOf, weakRsa } from './build.ts'

describe('checkPublicKey', () => {
  it('accepts P-256, Ed25519 and RSA-2048, and names them', async () => {
    for (const algorithm of ['ec-p256', 'ed25519', 'rsa-2048'] as const) {
      const pair = await generateKey(algorithm)
      expect(pair.algorithm).toBe(algorithm)
      expect(valueOf(checkPublicKey(createPublicKey(pair.publicKeyPem)))).toBe(algorithm)
    }
  })

  it('refuses RSA-1024, and RSA with e=3 (BR-035)', () => {
    expect(codeOf(checkPublicKey(createPublicKey(weakRsa({ modulusLength: 1024 }))))).toBe('key_weak')
    expect(codeOf(checkPublicKey(createPublicKey(weakRsa({ publicExponent: 3 }))))).toBe('key_weak')
  })

  it('refuses other curves and kinds, and private keys', async () => {
    const others = [
      generateKeyPairSync('ec', { namedCurve: 'secp384r1' }),
      generateKeyPairSync('ec', { namedCurve: 'secp256k1' }),
      generateKeyPairSync('ed448'),
      generateKeyPairSync('x25519'),
      generateKeyPairSync('rsa-pss', { modulusLength: 2048 }),
    ]
    for (const { publicKey } of others) expect(codeOf(checkPublicKey(publicKey))).toBe('key_unsupported')
    expect(codeOf(checkPublicKey(await newKey()))).toBe('key_invalid')
  })
})

describe('a key in compressed form', () => {
  it('is refused, so that one key has one fingerprint', async () => {
    const usual = createPublicKey(await newKey())
    const fields = childrenOf(readDer(spkiOf(usual)), tags.sequence)
    const point = ECDH.convertKey(wholeBitsOf(fields[1]), 'prime256v1', undefined, undefined, 'compressed')
    const bytes = encodeDer(sequence(...fields.slice(0, 1), wholeBits(Buffer.from(point))))
    const compressed = createPublicKey({ key: bytes, format: 'der', type: 'spki' })
    expect(compressed.equals(usual)).toBe(true)
    expect(codeOf(checkPublicKey(usual))).toBe('accepted')
    expect(codeOf(checkPublicKey(compressed))).toBe('key_unsupported')
  })
})

describe('loadPrivateKey', () => {
  it('refuses what is no key, a public key, an encrypted key and a weak key, without showing it', async () => {
    const encoding = { type: 'pkcs8', format: 'pem' } as const
    const encrypted = (await newKey()).export({ ...encoding, cipher: 'aes-256-cbc', passphrase: 'x' })
    for (const text of [
      '',
      'marker-secret',
      (await generateKey()).publicKeyPem,
      String(encrypted),
      'A'.repeat(99_999),
    ]) {
      const loaded = loadPrivateKey(text)
      expect(codeOf(loaded)).toBe('key_invalid')
      expect(loaded.ok ? '' : loaded.error.message).not.toContain('marker')
    }
    expect(codeOf(loadPrivateKey(String(weakRsa({ modulusLength: 1024 }).export(encoding))))).toBe('key_weak')
  })
})

describe('fingerprints', () => {
  it('of a key are the same from its private half, its public half and its certificate', async () => {
    const bundle = await createAuthority({ commonName: 'ca', now: NOW })
    const key = valueOf(loadPrivateKey(bundle.privateKeyPem))
    const fingerprint = spkiFingerprintOfCertificate(bundle.certificatePem)
    expect(fingerprint).toMatch(/^sha256:[0-9a-f]{64}$/)
    expect(spkiFingerprintOfKey(key)).toBe(fingerprint)
    expect(spkiFingerprintOfKey(createPublicKey(key))).toBe(fingerprint)
    const certificate = new X509Certificate(bundle.certificatePem)
    expect(certificateFingerprint(certificate.raw)).toBe(
      certificate.fingerprint256.replaceAll(':', '').toLowerCase(),
    )
    expect(() => spkiFingerprintOfCertificate('no')).toThrow('the certificate cannot be read')
  })
})
