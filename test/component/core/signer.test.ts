import { X509Certificate } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { Signer } from '../../../agent/core/credential/signer.ts'
import { TrustBook, trustBookSchema } from '../../../agent/core/credential/trust-book.ts'
import { JsonFile } from '../../../agent/core/store/json-file.ts'
import {
  createAuthority,
  createCsr,
  generateKey,
  loadAuthority,
  loadPrivateKey,
  mintJoinCredential,
  parseCsr,
  signRenewal,
} from '../../../pki/index.ts'
import { administrator } from '../../unit/core/credential/administrator.ts'
import { Crash, MemoryFileSystem } from '../../unit/core/store/memory-file-system.ts'

const START = new Date('2030-01-01T00:00:00Z')
const PEER = '10.0.0.5'

async function setUp(limits: { readonly maxUses?: number; readonly lifetimeSeconds?: number } = {}) {
  let now = START
  const clock = { now: () => now, monotonic: () => 0, sleep: async () => undefined }
  const files = new MemoryFileSystem()
  const open = (on: MemoryFileSystem) =>
    new TrustBook(new JsonFile(on, '/state/book.json', trustBookSchema), clock)
  const book = open(files)
  const bundle = await createAuthority({ commonName: 'test', now: START })
  const authority = loadAuthority(bundle)
  if (!authority.ok) throw authority.error
  const minted = await mintJoinCredential({ now: START, ...limits })
  book.update((content) => ({ ...content, records: [minted.record] }))
  const signerOf = (on: TrustBook) =>
    new Signer({
      book: on,
      authority: () => ({
        authority: authority.value,
        authorities: [bundle.certificatePem],
        reservedNames: ['cp-1'],
        reservedAddresses: ['10.0.0.1'],
      }),
    })
  const signer = signerOf(book)
  const key = async () => {
    const loaded = loadPrivateKey((await generateKey()).privateKeyPem)
    if (!loaded.ok) throw loaded.error
    return loaded.value
  }
  type Key = Awaited<ReturnType<typeof key>>
  const csrOf = (own: Key, name: string, ip = PEER) =>
    createCsr({ key: own, commonName: name, dnsNames: [name], ipAddresses: [ip] })
  const csr = async (name: string, ip = PEER) => csrOf(await key(), name, ip)
  const renewal = async (own: Key, certificate: string, name: string, next = own) => {
    const request = await csrOf(next, name)
    const parsed = parseCsr(request)
    if (!parsed.ok) throw parsed.error
    return { csr: request, certificate, signature: signRenewal(own, parsed.value.der) }
  }
  const renew = async (...[own, certificate, name, next]: Parameters<typeof renewal>) =>
    signer.renew(await renewal(own, certificate, name, next), PEER)
  const serialOf = ({ certificate }: { readonly certificate: string }) =>
    new X509Certificate(certificate).serialNumber.toLowerCase()
  const reasons: string[] = []
  const sign = (request: string, peer = PEER, by = signer) =>
    by.sign({ username: minted.username, password: minted.password, csr: request }, peer, (why) =>
      reasons.push(why),
    )
  const admin = administrator(book)
  return {
    sign,
    signer,
    signerOf,
    admin,
    key,
    csrOf,
    renew,
    renewal,
    serialOf,
    csr,
    book,
    files,
    open,
    reasons,
    setNow: (next: Date) => (now = next),
  }
}

const outcomes = async (calls: readonly Promise<unknown>[]) =>
  (await Promise.allSettled(calls)).map((result) => result.status).sort()

describe('Signer', () => {
  it('gives a name to one of two keys that ask for it at the same moment', async () => {
    const { sign, csr, book } = await setUp()
    const [first, second] = [await csr('w-1', '10.0.0.5'), await csr('w-1', '10.0.0.6')]
    expect(await outcomes([sign(first), sign(second, '10.0.0.6')])).toEqual(['fulfilled', 'rejected'])
    expect(book.content.enrolments).toHaveLength(1)
  })

  it('gives an address to one of two names that ask for it at the same moment', async () => {
    const { sign, csr } = await setUp()
    expect(await outcomes([sign(await csr('w-1')), sign(await csr('w-2'))])).toEqual([
      'fulfilled',
      'rejected',
    ])
  })

  it('spends the last use once, however many ask at the same moment', async () => {
    const { sign, csr, book } = await setUp({ maxUses: 1 })
    const requests = [
      await csr('w-1', '10.0.0.5'),
      await csr('w-2', '10.0.0.6'),
      await csr('w-3', '10.0.0.7'),
    ]
    const calls = requests.map((request, i) => sign(request, `10.0.0.${5 + i}`))
    expect(await outcomes(calls)).toEqual(['fulfilled', 'rejected', 'rejected'])
    expect(book.content.records[0]?.uses).toBe(1)
  })

  it('lets a node that is enrolled join again with a credential that is used up, and not with one that has expired', async () => {
    const { sign, csr, book, reasons, setNow } = await setUp({ maxUses: 1, lifetimeSeconds: 3600 })
    const request = await csr('w-1')
    await sign(request)
    await sign(request)
    expect(book.content.records[0]?.uses).toBe(1)
    setNow(new Date(START.getTime() + 3601_000))
    await expect(sign(request)).rejects.toMatchObject({ code: 'join_refused' })
    expect(reasons).toEqual(['credential_expired'])
  })

  it('checks at most four passwords at once and asks the others to come again', async () => {
    const { sign, csr } = await setUp()
    const requests = await Promise.all(Array.from({ length: 8 }, (_, i) => csr(`w-${i}`, `10.0.1.${i + 1}`)))
    const results = await Promise.allSettled(requests.map((request, i) => sign(request, `10.0.1.${i + 1}`)))
    const codes = results.map((result) =>
      result.status === 'rejected' ? (result.reason as { code: string }).code : 'ok',
    )
    expect(codes.filter((code) => code === 'ok')).toHaveLength(4)
    expect(codes.filter((code) => code === 'signer_busy')).toHaveLength(4)
  })

  it('counts a use and enrols together or not at all, wherever the world ends', async () => {
    for (let crashAt = 0; crashAt < 8; crashAt += 1) {
      const { sign, csr, files, open } = await setUp({ maxUses: 5 })
      const request = await csr('w-1')
      files.steps = 0
      files.crashAt = crashAt
      const answered = await sign(request).then(
        () => true,
        (error: unknown) => {
          expect(error).toBeInstanceOf(Crash)
          return false
        },
      )
      const { content, damaged } = open(files.afterCrash({ powerCut: true }))
      expect(content.enrolments.length).toBe(content.records[0]?.uses)
      if (answered) expect(content.enrolments).toHaveLength(1)
      expect(damaged).toBe(false)
    }
  })

  it('counts a use when the same key asks for another name, and refuses it once the credential is used up', async () => {
    const { sign, key, csrOf, book } = await setUp({ maxUses: 1 })
    const own = await key()
    await sign(await csrOf(own, 'w-1'))
    await expect(sign(await csrOf(own, 'w-2'))).rejects.toMatchObject({ code: 'join_refused' })
    expect(book.content.enrolments.map((one) => one.node)).toEqual(['w-1'])
  })

  it('moves a key to another name for another use, so that it has one enrolment', async () => {
    const { sign, key, csrOf, book } = await setUp({ maxUses: 2 })
    const own = await key()
    await sign(await csrOf(own, 'w-1'))
    await sign(await csrOf(own, 'w-2'))
    expect(book.content.enrolments.map((one) => one.node)).toEqual(['w-2'])
    expect(book.content.records[0]?.uses).toBe(2)
  })

  it.each([0, 1])(
    'signs and renews nothing for the key of denied certificate %i of a node until it is forgotten',
    async (index) => {
      const { sign, key, csrOf, renew, serialOf, admin } = await setUp()
      const own = await key()
      const request = await csrOf(own, 'w-1')
      const both = [await sign(request), await sign(request)]
      await admin.deny(both.map(serialOf)[index] ?? '')
      const refused = { code: 'renewal_refused' }
      for (const { certificate } of both) {
        await expect(renew(own, certificate, 'w-1')).rejects.toMatchObject(refused)
        await expect(renew(own, certificate, 'w-1', await key())).rejects.toMatchObject(refused)
      }
      await expect(sign(request)).rejects.toMatchObject({ code: 'key_denied' })
      await expect(sign(await csrOf(own, 'w-2'))).rejects.toMatchObject({ code: 'key_denied' })
      await admin.forget('w-1')
      await sign(request)
      await expect(renew(own, both[index]?.certificate ?? '', 'w-1')).rejects.toMatchObject(refused)
    },
  )

  it('renews the newest certificate, and the one that it was got with for an answer that was lost, and no older one', async () => {
    const { sign, key, csrOf, renew } = await setUp()
    const own = await key()
    const first = await sign(await csrOf(own, 'w-1'))
    await renew(own, first.certificate, 'w-1')
    await renew(own, first.certificate, 'w-1')
    const last = await renew(own, first.certificate, 'w-1')
    await renew(own, last.certificate, 'w-1')
    await expect(renew(own, first.certificate, 'w-1')).rejects.toMatchObject({ code: 'renewal_refused' })
  })

  it.each(['deny', 'forget'] as const)('gives no certificate when %s comes while it is made', async (act) => {
    const { sign, key, csrOf, renewal, serialOf, admin, signer } = await setUp()
    const own = await key()
    const first = await sign(await csrOf(own, 'w-1'))
    const request = await renewal(own, first.certificate, 'w-1')
    const renewing = signer.renew(request, PEER)
    const done = act === 'deny' ? admin.deny(serialOf(first)) : admin.forget('w-1')
    await expect(renewing).rejects.toMatchObject({
      code: act === 'deny' ? 'renewal_refused' : 'enrolment_raced',
    })
    await done
  })

  it('keeps the name of the node over a renewal, its domain included', async () => {
    const { sign, key, csrOf, renew } = await setUp()
    const own = await key()
    const first = await sign(await csrOf(own, 'w-1.example.com'))
    await expect(renew(own, first.certificate, 'w-1')).rejects.toMatchObject({ code: 'renewal_name_changed' })
  })

  it('enrols 10,000 nodes at most, and still those that are enrolled', async () => {
    const { sign, key, csrOf, csr, book } = await setUp()
    const request = await csrOf(await key(), 'w-1')
    await sign(request)
    const [known] = book.content.enrolments
    if (known === undefined) throw new Error('not enrolled')
    const others = Array.from({ length: 9_999 }, (_, i) => ({
      ...known,
      node: `n-${i}`,
      keyFingerprint: `sha256:${i}`,
      dnsNames: [],
      addresses: [],
    }))
    book.update((content) => ({ ...content, enrolments: [...content.enrolments, ...others] }))
    await expect(sign(await csr('w-2', '10.0.0.6'), '10.0.0.6')).rejects.toMatchObject({
      status: 'resource_exhausted',
      code: 'enrolments_full',
    })
    await sign(request)
    expect(book.content.enrolments).toHaveLength(10_000)
  })

  it('signs and renews nothing out of a damaged book until an administrator has changed it', async () => {
    const { key, csrOf, sign, renewal, files, open, signerOf } = await setUp()
    const own = await key()
    const request = await csrOf(own, 'w-1')
    const first = await sign(request)
    await sign(request)
    files.files.set('/state/book.json', { data: 'x', durable: true })
    const book = open(files)
    const signer = signerOf(book)
    const admin = administrator(book)
    await expect(sign(request, PEER, signer)).rejects.toMatchObject({
      status: 'failed_precondition',
      code: 'trust_book_damaged',
    })
    const again = await renewal(own, first.certificate, 'w-1')
    await expect(signer.renew(again, PEER)).rejects.toMatchObject({
      code: 'trust_book_damaged',
    })
    expect(admin.findings.has('trust_book_damaged')).toBe(true)
    await admin.deny('0abc')
    expect(admin.findings.has('trust_book_damaged')).toBe(false)
    await sign(request, PEER, signer)
    expect(book.damaged).toBe(false)
  })
})
