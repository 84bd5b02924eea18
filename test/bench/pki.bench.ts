import {
  createAuthority,
  createCsr,
  generateKey,
  issueCertificate,
  loadAuthority,
  loadPrivateKey,
  parseCsr,
  type KeyAlgorithm,
} from '#pki'
import { load, type Report } from './measure.ts'

const ALGORITHMS: readonly KeyAlgorithm[] = ['ec-p256', 'ed25519', 'rsa-2048']

/** What a control plane does for each joining node: check a CSR, issue a certificate. One key type for the authority and the node at a time. */
export async function benchPki(report: Report, seconds: number): Promise<void> {
  const rates = new Map<KeyAlgorithm, number>()
  for (const algorithm of ALGORITHMS) {
    const now = new Date()
    const bundle = await createAuthority({ commonName: 'bench', algorithm, now })
    const authority = loadAuthority(bundle)
    if (!authority.ok) throw authority.error
    const key = loadPrivateKey((await generateKey(algorithm)).privateKeyPem)
    if (!key.ok) throw key.error
    const csr = await createCsr({
      key: key.value,
      commonName: 'worker-1',
      dnsNames: ['worker-1'],
      ipAddresses: ['192.0.2.7'],
    })
    const once = async () => {
      const parsed = parseCsr(csr)
      if (!parsed.ok) throw parsed.error
      await issueCertificate({
        profile: 'node-serving',
        publicKey: parsed.value.publicKey,
        subject: { commonName: 'worker-1' },
        dnsNames: ['worker-1'],
        ipAddresses: ['192.0.2.7'],
        authority: authority.value,
        now,
      })
    }
    const { perSecond } = await load(once, { seconds, inFlight: 1 })
    rates.set(algorithm, perSecond)
    report.add('pki', `CSR verified and certificate signed, ${algorithm}`, perSecond, '/s')
  }
  const base = rates.get('ec-p256') ?? Number.NaN
  report.add('pki', 'ed25519 against ec-p256', (rates.get('ed25519') ?? Number.NaN) / base, 'times')
  report.add('pki', 'rsa-2048 against ec-p256', (rates.get('rsa-2048') ?? Number.NaN) / base, 'times')
}
