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
} from '../../../pki/index.ts'
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
  const signer = new Signer({
    book,
    authority: () => ({
      authority: authority.value,
      authorities: [bundle.certificatePem],
      reservedNames: ['cp-1'],
      reservedAddresses: ['10.0.0.1'],
    }),
  })
  const csr = async (name: string, ip = PEER) => {
    const loaded = loadPrivateKey((await generateKey()).privateKeyPem)
    if (!loaded.ok) throw loaded.error
    return createCsr({ key: loaded.value, commonName: name, dnsNames: [name], ipAddresses: [ip] })
  }
  const reasons: string[] = []
  const sign = (request: string, peer = PEER) =>
    signer.sign({ username: minted.username, password: minted.password, csr: request }, peer, (why) =>
      reasons.push(why),
    )
  return { sign, csr, book, files, open, reasons, setNow: (next: Date) => (now = next) }
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
})
