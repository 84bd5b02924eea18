import { describe, expect, it } from 'vitest'
import { importCredential } from '../../../../agent/core/credential/import-credential.ts'
import {
  TrustBook,
  trustBookMarkerSchema,
  trustBookSchema,
} from '../../../../agent/core/credential/trust-book.ts'
import { JsonFile } from '../../../../agent/core/store/json-file.ts'
import type { NodeConfiguration } from '../../../../agent/config/index.ts'
import { MemoryFileSystem } from '../store/memory-file-system.ts'
import { administrator } from './administrator.ts'

const BOOK = '/state/trust/book.json'
const PREVIOUS = `${BOOK}.previous`
const clock = { now: () => new Date('2030-01-01'), monotonic: () => 0, sleep: async () => undefined }
const open = (files: MemoryFileSystem) =>
  new TrustBook(
    new JsonFile(files, BOOK, trustBookSchema),
    clock,
    new JsonFile(files, '/state/boot/trust-book.json', trustBookMarkerSchema),
  )
const damage = (files: MemoryFileSystem, ...paths: readonly string[]) => {
  for (const path of paths) files.files.set(path, { data: '{"version":1', durable: true })
}
// An import reads the credential alone.
const configuration = { node: { trust: { username: 'u', password: 'p' } } } as unknown as NodeConfiguration

async function used(): Promise<MemoryFileSystem> {
  const files = new MemoryFileSystem()
  const book = open(files)
  await importCredential(book, configuration)
  const admin = administrator(book, 'u')
  await admin.revoke('u')
  await admin.deny('0abc')
  return files
}

describe('TrustBook', () => {
  it.each([[BOOK], [PREVIOUS]])(
    'keeps the last denial and the last revocation when %s is damaged',
    async (path) => {
      const files = await used()
      damage(files, path)
      const book = open(files)
      expect(book.isDenied('0abc')).toBe(true)
      expect(book.isDenied('0def')).toBe(false)
      expect(book.record('u')?.revokedAt).toBeDefined()
      expect(book.damaged).toBe(path === BOOK)
    },
  )

  it.each<[string, (files: MemoryFileSystem) => void]>([
    ['both copies are damaged', (files) => damage(files, BOOK, PREVIOUS)],
    [
      'both copies are gone',
      (files) => {
        files.files.delete(BOOK)
        files.files.delete(PREVIOUS)
      },
    ],
    [
      'both copies are gone and the marker is damaged',
      (files) => {
        files.files.delete(BOOK)
        files.files.delete(PREVIOUS)
        damage(files, '/state/boot/trust-book.json')
      },
    ],
  ])('does not know who is denied and changes nothing by itself when %s', async (_what, act) => {
    const files = await used()
    act(files)
    const book = open(files)
    expect(book.isDenied('0abc')).toBe('unknown')
    expect(() => book.update((content) => content)).toThrow(
      expect.objectContaining({ status: 'failed_precondition', code: 'trust_book_damaged' }),
    )
    await importCredential(book, configuration)
    expect(book.content.records).toEqual([])
  })

  it('imports a credential that may have been revoked neither before nor after damage is acknowledged', async () => {
    const files = await used()
    damage(files, BOOK, PREVIOUS)
    const book = open(files)
    const admin = administrator(book, 'u')
    expect([...admin.findings.keys()]).toEqual(['trust_book_damaged'])
    await admin.deny('0abc')
    expect([...admin.findings.keys()]).toEqual([])
    expect(book.damaged).toBe(false)
    const next = open(files)
    expect(next.damaged).toBe(false)
    expect(next.isDenied('0abc')).toBe(true)
    await importCredential(next, configuration)
    expect(next.record('u')).toBeUndefined()
  })

  it('takes no book for none before the first one was written', () => {
    const book = open(new MemoryFileSystem())
    expect(book.damaged).toBe(false)
    expect(book.isDenied('0abc')).toBe(false)
  })
})
