import { describe, expect, it } from 'vitest'
import { TrustBook, trustBookSchema } from '../../../../agent/core/credential/trust-book.ts'
import { JsonFile } from '../../../../agent/core/store/json-file.ts'
import { administrator } from '../credential/administrator.ts'
import { Crash, MemoryFileSystem } from '../store/memory-file-system.ts'

const clock = { now: () => new Date('2030-01-01'), monotonic: () => 0, sleep: async () => undefined }

function setUp() {
  const files = new MemoryFileSystem()
  const book = new TrustBook(new JsonFile(files, '/state/book.json', trustBookSchema), clock)
  return { book, files, admin: administrator(book) }
}

async function codes(calls: readonly Promise<unknown>[]): Promise<readonly string[]> {
  const results = await Promise.allSettled(calls)
  return results
    .map((one) => (one.status === 'rejected' ? (one.reason as { code: string }).code : 'ok'))
    .sort()
}

describe('createJoinCredential', () => {
  it('makes one credential for one key, however many calls come at the same moment', async () => {
    const { admin, book } = setUp()
    const calls = Array.from({ length: 4 }, () => admin.create({ idempotencyKey: 'the-same-key' }))
    expect(await codes(calls)).toEqual(['credential_exists', 'credential_exists', 'credential_exists', 'ok'])
    expect(book.content.records).toHaveLength(1)
  })

  it('gives the key back when no credential was made', async () => {
    const { admin, book, files } = setUp()
    files.crashAt = 0
    await expect(admin.create({ idempotencyKey: 'the-same-key' })).rejects.toThrow(Crash)
    files.crashAt = Number.POSITIVE_INFINITY
    await admin.create({ idempotencyKey: 'the-same-key' })
    expect(book.content.records).toHaveLength(1)
  })

  it('counts credentials that are being made against the cap', async () => {
    const { admin, book } = setUp()
    await admin.create()
    const [record] = book.content.records
    if (record === undefined) throw new Error('no record')
    const others = Array.from({ length: 998 }, (_, i) => ({ ...record, username: `u-${i}` }))
    book.update((content) => ({ ...content, records: [...content.records, ...others] }))
    expect(await codes([admin.create(), admin.create(), admin.create()])).toEqual([
      'credentials_full',
      'credentials_full',
      'ok',
    ])
    expect(book.content.records).toHaveLength(1_000)
  })
})
