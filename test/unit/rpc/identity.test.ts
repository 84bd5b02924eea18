import { describe, expect, it } from 'vitest'
import { ROLES, toIdentity } from '#rpc'

const client = (roles: readonly string[]) => ({
  commonName: 'ada',
  roles,
  serial: '01',
  fingerprint: 'ff',
  notAfter: new Date(0),
})

describe('the roles of a certificate', () => {
  it('count when they are spelled exactly, once each', () => {
    const identity = toIdentity(client([...ROLES, 'stele:admin']), '::1')
    expect(identity.roles).toEqual(ROLES)
    expect(identity.unknownRoles).toEqual([])
  })

  it.each([
    '',
    ' ',
    'reader',
    'stele:admin ',
    ' stele:admin',
    'STELE:ADMIN',
    'stele:admin,stele:reader',
    'system:masters',
    '__proto__',
  ])('BR-051 grant nothing as %j', (role) => {
    const identity = toIdentity(client([role]), '::1')
    expect(identity.roles).toEqual([])
    expect(identity.unknownRoles).toEqual([role])
  })
})
