import { inspect } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { parseIdentity } from '#rpc'
import { identityText, makeAuthority, makeServer, type TestPair } from '../../support/certificates.ts'

let pair: TestPair
let other: TestPair
let ca: string

beforeAll(async () => {
  const authority = await makeAuthority()
  ca = authority.bundle.certificatePem
  pair = await makeServer(authority)
  other = await makeServer(authority)
})

describe('an identity file', () => {
  it('holds a key that does not print', () => {
    const parsed = parseIdentity(identityText(pair, [ca]))
    if (!parsed.ok) throw new Error(parsed.error)
    expect(parsed.value.node).toBe('cp-1')
    expect(parsed.value.privateKey.reveal()).toBe(pair.privateKey)
    expect(inspect(parsed.value) + JSON.stringify(parsed.value)).not.toContain('PRIVATE KEY')
  })

  it('BR-053 is refused when the key is of another certificate', () => {
    const parsed = parseIdentity(identityText({ ...pair, privateKey: other.privateKey }, [ca]))
    expect(parsed).toEqual({ ok: false, error: 'certificate and key do not belong together' })
  })

  it('is refused without an authority: nobody would be let in, or everybody', () => {
    expect(parseIdentity(identityText(pair, [])).ok).toBe(false)
  })

  it('is refused torn, of another version, or too large, and says nothing of its text', () => {
    const text = identityText(pair, [ca])
    for (const bad of [
      '',
      '{',
      '[]',
      'null',
      text.slice(0, -40),
      text.replace('"version":1', '"version":2'),
      text + ' '.repeat(300_000),
    ]) {
      const parsed = parseIdentity(bad)
      expect(parsed.ok).toBe(false)
      expect(JSON.stringify(parsed)).not.toContain('PRIVATE')
    }
  })
})
