import { describe, expect, it } from 'vitest'
import {
  checkJoinCredential,
  hashJoinPassword,
  mintJoinCredential,
  verifyJoinPassword,
  type JoinCredentialRecord,
} from '../../../pki/index.ts'
import { NOW, SECOND } from './build.ts'

const record = (change: Partial<JoinCredentialRecord>): JoinCredentialRecord => ({
  username: 'u',
  passwordHash: '',
  createdAt: NOW.toISOString(),
  uses: 0,
  ...change,
})

describe('mintJoinCredential', () => {
  it('returns a password that verifies and is nowhere in the record', async () => {
    const minted = await mintJoinCredential({ now: NOW, lifetimeSeconds: 60, maxUses: 3 })
    expect(minted.record).toMatchObject({
      username: minted.username,
      expiresAt: '2026-06-01T12:01:00.000Z',
      maxUses: 3,
      uses: 0,
    })
    expect(JSON.stringify(minted.record)).not.toContain(minted.password)
    expect(minted.password).toMatch(/^[a-z2-7]{32}$/)
    expect(await verifyJoinPassword(minted.record, minted.password)).toBe(true)
    expect(await verifyJoinPassword(minted.record, `${minted.password.slice(0, -1)}1`)).toBe(false)
  })

  it('refuses limits that make no sense', async () => {
    for (const limits of [
      { lifetimeSeconds: 0 },
      { lifetimeSeconds: Number.NaN },
      { lifetimeSeconds: 1e300 },
      { maxUses: 0 },
      { maxUses: 1.5 },
    ]) {
      await expect(mintJoinCredential({ now: NOW, ...limits })).rejects.toMatchObject({
        code: 'credential_invalid',
      })
    }
  })
})

describe('verifyJoinPassword (BR-049)', () => {
  it('says no, and does not throw, for every wrong or strange password', async () => {
    const stored = record({ passwordHash: await hashJoinPassword('right:pässword') })
    expect(await verifyJoinPassword(stored, 'right:pässword')).toBe(true)
    for (const password of [
      '',
      'x',
      'right',
      'right:password',
      'x'.repeat(65_536),
      '\ud800',
      '\0',
      'right:pässword\0',
    ]) {
      expect(await verifyJoinPassword(stored, password)).toBe(false)
    }
  })

  it('says no to an unknown username, whatever the password is, the stand-in included', async () => {
    for (const password of ['', 'right', 'not a password'])
      expect(await verifyJoinPassword(undefined, password)).toBe(false)
  })

  it('never takes the stand-in of a strange password for the password', async () => {
    const stored = record({ passwordHash: await hashJoinPassword('not a password') })
    expect(await verifyJoinPassword(stored, 'not a password')).toBe(true)
    expect(await verifyJoinPassword(stored, '')).toBe(false)
  })

  it('lets nobody in with a hash that is unset, damaged or of another cost', async () => {
    const good = await hashJoinPassword('p')
    const hashes = [
      '',
      '$',
      'p',
      good.slice(0, -1),
      good.replace('ln=15', 'ln=1'),
      good.replace('p=1', 'p=9'),
      good.replace('scrypt', 'plain'),
    ]
    for (const passwordHash of hashes) {
      expect(await verifyJoinPassword(record({ passwordHash }), 'p')).toBe(false)
      expect(await verifyJoinPassword(record({ passwordHash }), 'not a password')).toBe(false)
    }
  })
})

describe('hashJoinPassword', () => {
  it('salts, and refuses an empty password and one above 256 bytes', async () => {
    expect(await hashJoinPassword('same')).not.toBe(await hashJoinPassword('same'))
    for (const password of ['', 'a\0', 'x'.repeat(257), 'ä'.repeat(129)]) {
      await expect(hashJoinPassword(password)).rejects.toMatchObject({ code: 'credential_invalid' })
    }
  })
})

describe('checkJoinCredential', () => {
  const later = (seconds: number) => new Date(NOW.getTime() + seconds * SECOND)
  it.each<[string, Partial<JoinCredentialRecord>, string]>([
    ['without limits', {}, 'usable'],
    ['before its end', { expiresAt: later(1).toISOString() }, 'usable'],
    ['at its end', { expiresAt: NOW.toISOString() }, 'expired'],
    ['with an end that is no time', { expiresAt: 'soon' }, 'expired'],
    ['with one use left', { maxUses: 2, uses: 1 }, 'usable'],
    ['with no use left', { maxUses: 2, uses: 2 }, 'used_up'],
    ['with a damaged count', { maxUses: 2, uses: Number.NaN }, 'used_up'],
    ['that never had a use', { maxUses: 0 }, 'used_up'],
    [
      'that is revoked, whatever else holds (BR-048)',
      { revokedAt: later(9).toISOString(), expiresAt: NOW.toISOString() },
      'revoked',
    ],
  ])('a record %s', (_what, change, state) => {
    expect(checkJoinCredential(record(change), NOW)).toBe(state)
  })
})
