import { describe, expect, it } from 'vitest'
import { hunks } from '../../../agent/cli/command/apply.ts'

const HEAD = 'Index: a\n===================================================================\n--- a\n+++ b\n'

describe('hunks', () => {
  it('says that nothing differs instead of headers alone', () => {
    expect([hunks(''), hunks(HEAD), hunks('--- a\n+++ b\n')]).toEqual(['no change', 'no change', 'no change'])
  })

  it('keeps the names and the lines, and leaves the rule out', () => {
    expect(hunks(`${HEAD}@@ -1,1 +1,1 @@\n-a\n+b\n`)).toBe('--- a\n+++ b\n@@ -1,1 +1,1 @@\n-a\n+b')
  })
})
