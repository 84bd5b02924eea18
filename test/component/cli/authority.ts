import { createPublicKey } from 'node:crypto'
import { createAuthority, generateKey, issueAdminCertificate, issueCertificate, loadAuthority } from '#pki'

export type Pair = { readonly certificate: string; readonly privateKey: string }

/** A node CA of its own, and what it signs: for tests that need certificates of every kind. */
export async function makeAuthority() {
  const now = new Date()
  const bundle = await createAuthority({
    commonName: 'test node CA',
    now: new Date(now.getTime() - 2 * 86_400_000),
  })
  const loaded = loadAuthority(bundle)
  if (!loaded.ok) throw loaded.error
  const authority = loaded.value
  return {
    certificate: bundle.certificatePem,
    async person(
      commonName: string,
      roles: readonly string[],
      options: { now?: Date; lifetimeSeconds?: number } = {},
    ): Promise<Pair> {
      const issued = await issueAdminCertificate({ authority, commonName, roles, now, ...options })
      return { certificate: issued.certificatePem, privateKey: issued.privateKeyPem }
    },
    async node(name: string, ipAddresses: readonly string[]): Promise<Pair> {
      const key = await generateKey()
      const issued = await issueCertificate({
        profile: 'node-serving',
        publicKey: createPublicKey(key.publicKeyPem),
        subject: { commonName: name },
        dnsNames: [name],
        ipAddresses,
        authority,
        now,
      })
      return { certificate: issued.certificatePem, privateKey: key.privateKeyPem }
    },
  }
}

export type TestAuthority = Awaited<ReturnType<typeof makeAuthority>>
