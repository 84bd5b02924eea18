import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { JsonFile } from '../../../../agent/core/store/json-file.ts'
import { Crash, MemoryFileSystem } from './memory-file-system.ts'

const schema = z.strictObject({ text: z.string() })
const PATH = '/state/one.json'
const open = (files: MemoryFileSystem) => new JsonFile(files, PATH, schema)

describe('JsonFile', () => {
  it('has nothing before the first write and then what was written last', () => {
    const files = new MemoryFileSystem()
    expect(open(files).read()).toEqual({ kind: 'absent' })
    const file = open(files)
    file.write({ text: 'a' })
    file.write({ text: 'b' })
    expect(open(files).read()).toEqual({ kind: 'current', value: { text: 'b' } })
  })

  it.each([false, true])(
    'holds the old value or the new one, never none, after the end at every step (BR-029), power cut: %s',
    (powerCut) => {
      for (let crashAt = 0; ; crashAt += 1) {
        const files = new MemoryFileSystem()
        const file = open(files)
        file.write({ text: 'older' })
        file.write({ text: 'old' })
        files.steps = 0
        files.crashAt = crashAt
        let acknowledged = false
        try {
          file.write({ text: 'new' })
          acknowledged = true
        } catch (error) {
          expect(error).toBeInstanceOf(Crash)
        }
        const found = open(files.afterCrash({ powerCut })).read()
        expect(found).toHaveProperty(
          'value.text',
          acknowledged ? 'new' : expect.stringMatching(/^(old|new)$/),
        )
        if (acknowledged) return
      }
    },
  )

  it('survives a second crash during the repair of the first (BR-029)', () => {
    for (let first = 0; first < 12; first += 1) {
      for (let second = 0; second < 12; second += 1) {
        const files = new MemoryFileSystem()
        open(files).write({ text: 'old' })
        const later = crashDuringWrite(files, first, 'middle')
        const last = crashDuringWrite(later, second, 'new')
        expect(open(last).read()).toHaveProperty('value.text', expect.stringMatching(/^(old|middle|new)$/))
      }
    }
  })

  it.each(['', '{"version":1', 'garbage', '{"version":1,"digest":"sha256:00","value":{"text":"x"}}'])(
    'uses the previous copy when the file is %j, and does not write the damage over it (BR-029)',
    (damage) => {
      const files = new MemoryFileSystem()
      const file = open(files)
      file.write({ text: 'old' })
      file.write({ text: 'new' })
      files.files.set(PATH, { data: damage, durable: true })
      files.files.set(`${PATH}.new`, { data: 'stray', durable: true })
      const again = open(files)
      expect(again.read()).toEqual({ kind: 'previous', value: { text: 'old' } })
      again.write({ text: 'newest' })
      expect(open(files).read()).toEqual({ kind: 'current', value: { text: 'newest' } })
      files.files.set(PATH, { data: damage, durable: true })
      expect(open(files).read()).toEqual({ kind: 'previous', value: { text: 'old' } })
    },
  )

  it('says so when both copies are damaged', () => {
    const files = new MemoryFileSystem()
    files.files.set(PATH, { data: 'x', durable: true })
    expect(open(files).read()).toEqual({ kind: 'damaged' })
  })

  it('gives back any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const files = new MemoryFileSystem()
        open(files).write({ text })
        const found = open(files).read()
        return 'value' in found && found.value.text === text
      }),
    )
  })
})

function crashDuringWrite(files: MemoryFileSystem, crashAt: number, text: string): MemoryFileSystem {
  const file = open(files)
  file.read()
  files.steps = 0
  files.crashAt = crashAt
  try {
    file.write({ text })
  } catch (error) {
    if (!(error instanceof Crash)) throw error
  }
  return files.afterCrash({ powerCut: true })
}
