import { X509Certificate } from 'node:crypto'
import { createRequire } from 'node:module'
import { beforeAll, describe, expect, it } from 'vitest'
import { createClusterSecrets, parseClusterSecrets, type ClusterSecrets } from '../../../pki/index.ts'
import { NOW, valueOf } from './build.ts'

let secrets: ClusterSecrets
beforeAll(async () => {
  secrets = await createClusterSecrets({ now: NOW })
})

describe('createClusterSecrets', () => {
  it('is plain JSON, with subjects and forms that kubeadm knows', () => {
    expect(valueOf(parseClusterSecrets(JSON.parse(JSON.stringify(secrets))))).toEqual(secrets)
    const { nodeCa, kubernetesCa, etcdCa, frontProxyCa } = secrets
    const subjects = [nodeCa, kubernetesCa, etcdCa, frontProxyCa].map(
      (one) => new X509Certificate(one.certificatePem).subject,
    )
    expect(subjects).toEqual(['CN=stele-node-ca', 'CN=kubernetes', 'CN=etcd-ca', 'CN=front-proxy-ca'])
    expect(secrets.bootstrapToken).toMatch(/^[a-z0-9]{6}\.[a-z0-9]{16}$/)
    expect(secrets.certificateKey).toMatch(/^[0-9a-f]{64}$/)
  })

  it('never gives Kubernetes an Ed25519 key, which its tokens cannot be signed with', async () => {
    const made = await createClusterSecrets({ now: NOW, algorithm: 'ed25519' })
    const kinds = [made.nodeCa, made.kubernetesCa].map(
      (one) => new X509Certificate(one.certificatePem).publicKey.asymmetricKeyType,
    )
    expect(kinds).toEqual(['ed25519', 'ec'])
  })
})

describe('parseClusterSecrets', () => {
  it('names the field that is wrong, and shows nothing of it', () => {
    const marker = 'marker-secret'
    const cases: readonly [unknown, string][] = [
      [undefined, 'the document is not an object'],
      [[], 'the document is not an object'],
      [{ ...secrets, extra: marker }, 'the document has a field that is not known'],
      [{ ...secrets, etcdCa: undefined }, 'etcdCa is not an object'],
      [
        { ...secrets, nodeCa: { certificatePem: secrets.nodeCa.certificatePem } },
        'nodeCa.privateKeyPem is missing',
      ],
      [
        { ...secrets, nodeCa: { ...secrets.nodeCa, privateKeyPem: marker } },
        'nodeCa: the private key cannot be read',
      ],
      [
        { ...secrets, nodeCa: { ...secrets.nodeCa, privateKeyPem: secrets.etcdCa.privateKeyPem } },
        'nodeCa: the certificate and the key',
      ],
      [
        { ...secrets, joinCredential: { username: 'u', password: `${marker}\n` } },
        'joinCredential.password is not of its form',
      ],
      [{ ...secrets, bootstrapToken: marker }, 'bootstrapToken is not of its form'],
      [{ ...secrets, certificateKey: marker }, 'certificateKey is not of its form'],
      [
        { ...secrets, serviceAccount: { publicKeyPem: marker, privateKeyPem: marker } },
        'serviceAccount is not a pair of keys',
      ],
      [
        {
          ...secrets,
          serviceAccount: { ...secrets.serviceAccount, privateKeyPem: secrets.etcdCa.privateKeyPem },
        },
        'serviceAccount is not a pair of keys',
      ],
    ]
    for (const [data, message] of cases) {
      const parsed = parseClusterSecrets(data)
      expect(parsed.ok ? '' : parsed.error.message).toContain(message)
      expect(JSON.stringify(parsed)).not.toContain(marker)
    }
  })
})

describe('the X.509 library', () => {
  it('is at least 1.4.3, the first version without the known faults (BR-035)', () => {
    // The type of JSON is unknown until it is looked at.
    const { version } = createRequire(import.meta.url)('node-forge/package.json') as { version: string }
    const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
    expect(major * 1_000_000 + minor * 1_000 + patch).toBeGreaterThanOrEqual(1_004_003)
  })
})
