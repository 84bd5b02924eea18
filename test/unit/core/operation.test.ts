import { describe, expect, it } from 'vitest'
import { Operations, operationsSchema } from '../../../agent/core/operation.ts'
import { JsonFile } from '../../../agent/core/store/json-file.ts'
import { MemoryFileSystem } from './store/memory-file-system.ts'

const clock = { now: () => new Date(0), monotonic: () => 0, sleep: async () => undefined }
const open = (files: MemoryFileSystem) =>
  new Operations({
    file: new JsonFile(files, '/state/operations.json', operationsSchema),
    clock,
    bootId: () => 'boot',
  })
const call = { key: 'abcdefgh', caller: 'ada', method: '/m', request: 'r' }

describe('Operations', () => {
  it('finds the first answer after a restart', () => {
    const files = new MemoryFileSystem()
    open(files).keep('id', call, { state: 'accepted', answer: 'AAAA' })
    const again = open(files)
    expect(again.find(call)).toMatchObject({ id: 'id', answer: 'AAAA' })
    expect(again.unfinished).toHaveLength(1)
    again.finish('id')
    expect(open(files).unfinished).toHaveLength(0)
    expect(open(files).find(call)).toBeDefined()
  })

  it('never repeats a call without a key', () => {
    const operations = open(new MemoryFileSystem())
    operations.keep('id', { ...call, key: '' }, { state: 'done', answer: '' })
    expect(operations.find({ ...call, key: '' })).toBeUndefined()
  })

  it('keeps the keys of callers and methods apart', () => {
    const operations = open(new MemoryFileSystem())
    operations.keep('id', call, { state: 'done', answer: '' })
    expect(operations.find({ ...call, caller: 'bob' })).toBeUndefined()
    expect(operations.find({ ...call, method: '/n' })).toBeUndefined()
  })

  it('refuses a key that was used for another request, and one that is malformed', () => {
    const operations = open(new MemoryFileSystem())
    operations.keep('id', call, { state: 'done', answer: '' })
    expect(() => operations.find({ ...call, request: 'other' })).toThrow(
      expect.objectContaining({ code: 'idempotency_key_reused' }),
    )
    for (const key of ['short', 'x'.repeat(65), 'with blank', 'ümlaut-key']) {
      expect(() => operations.find({ ...call, key })).toThrow(
        expect.objectContaining({ code: 'idempotency_key_invalid' }),
      )
    }
  })

  it('forgets the oldest first', () => {
    const operations = open(new MemoryFileSystem())
    for (let i = 0; i < 300; i += 1)
      operations.keep(`id${i}`, { ...call, key: `key-${1000 + i}` }, { state: 'done', answer: '' })
    expect(operations.find({ ...call, key: 'key-1000' })).toBeUndefined()
    expect(operations.find({ ...call, key: 'key-1299' })).toBeDefined()
  })

  it('forgets what did not happen even when the disk is full', () => {
    const files = new MemoryFileSystem()
    let isFull = false
    class FullDisk extends JsonFile<ReturnType<typeof operationsSchema.parse>> {
      override write(value: ReturnType<typeof operationsSchema.parse>): void {
        if (isFull) throw new Error('ENOSPC')
        super.write(value)
      }
    }
    const file = new FullDisk(files, '/state/operations.json', operationsSchema)
    const operations = new Operations({ file, clock, bootId: () => 'boot' })
    operations.keep('id', call, { state: 'accepted', answer: 'AAAA' })
    isFull = true
    expect(() => operations.drop('id')).toThrow('ENOSPC')
    expect(operations.find(call)).toBeUndefined()
  })
})
