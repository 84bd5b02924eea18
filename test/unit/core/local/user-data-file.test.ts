import { describe, expect, it } from 'vitest'
import { seedEntry } from '../../../../agent/core/local/user-data-file.ts'

describe('seedEntry', () => {
  it.each([
    [['user-data', 'meta-data'], 'user-data'],
    [['USER_DATA', 'META_DATA'], 'USER_DATA'],
    [['USER_DATA.;1'], 'USER_DATA.;1'],
    [['user-data;1'], 'user-data;1'],
    [['USER_DATA.;1', 'user-data'], 'user-data'],
  ])('finds the user data among %j (BR-007)', (names, found) => {
    expect(seedEntry(names, 'user-data')).toBe(found)
  })

  it('finds none where there is none (BR-004)', () => {
    expect(seedEntry(['meta-data', 'network-config', 'user-data.bak'], 'user-data')).toBeUndefined()
  })
})
