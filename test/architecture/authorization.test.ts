import { describe, expect, it } from 'vitest'
import { agentServices, trustServices } from '../../agent/api/index.ts'
import { assertComplete, authorization, authorize } from '../../agent/core/authorization.ts'
import { ROLES, type Role } from '../../agent/rpc/index.ts'

const pathsOf = (services: Readonly<Record<string, Readonly<Record<string, { readonly path: string }>>>>) =>
  Object.values(services).flatMap((service) => Object.values(service).map((method) => method.path))
const agent = pathsOf(agentServices)
const trust = pathsOf(trustServices)

describe('the authorization table', () => {
  it.each(agent)('has a row of roles for %s', (path) => {
    const row = authorization[path]
    expect(Array.isArray(row)).toBe(true)
    expect(row).toContain('stele:admin')
    for (const role of row as readonly Role[]) expect(ROLES).toContain(role)
  })

  it.each(trust)('gives %s to trust alone', (path) => {
    expect(authorization[path]).toBe('trust')
    expect(authorize(path, ROLES).kind).toBe('no-row')
  })

  it('has no row for a method that does not exist', () => {
    expect(Object.keys(authorization).sort()).toEqual([...agent, ...trust].sort())
  })

  it('stops the start when a served method has no row', () => {
    expect(() => assertComplete({ agent, trust })).not.toThrow()
    const fresh = '/stele.agent.v1.SystemService/Reset'
    expect(() => assertComplete({ agent: [...agent, fresh], trust })).toThrow(
      expect.objectContaining({ code: 'authorization_incomplete' }),
    )
  })

  it('refuses a method without a row at run time, whatever the roles, and names of the prototype too (BR-051)', () => {
    for (const path of ['/stele.agent.v1.SystemService/Reset', '', 'constructor', '__proto__', 'toString']) {
      expect(authorize(path, ROLES)).toEqual({ kind: 'no-row' })
    }
  })

  it('treats roles as sets: no role reads secrets or reboots by another one', () => {
    const may = (role: Role, method: string) =>
      authorize(`/stele.agent.v1.${method}`, [role]).kind === 'allowed'
    expect(may('stele:reader', 'SystemService/Reboot')).toBe(false)
    expect(may('stele:operator', 'SystemService/Reboot')).toBe(true)
    expect(may('stele:operator', 'ConfigService/Apply')).toBe(false)
    expect(may('stele:operator', 'ConfigService/GetSecrets')).toBe(false)
    expect(may('stele:etcd-backup', 'SystemService/Version')).toBe(true)
    expect(may('stele:etcd-backup', 'SystemService/GetStatus')).toBe(false)
    expect(authorize('/stele.agent.v1.SystemService/Version', []).kind).toBe('denied')
  })
})
