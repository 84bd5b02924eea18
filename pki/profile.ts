/**
 * Profiles: what a certificate of each kind may do, for how long, and which names it carries. A table, not code; see docs/adr/0002 for the lifetimes.
 */
import { PkiFault } from './fault.ts'
import type { ExtendedKeyUsage, KeyUsage } from './extension.ts'

export type Profile = {
  readonly isAuthority: boolean
  readonly keyUsages: readonly KeyUsage[]
  readonly extendedKeyUsages: readonly ExtendedKeyUsage[]
  readonly lifetimeSeconds: number
  readonly maxLifetimeSeconds: number
  /** `own`: the names and addresses of one node, the common name among them. `none`: a subject only. */
  readonly names: 'own' | 'none'
  /** Whether the subject carries roles, as organizations. */
  readonly roles: boolean
}

export type ProfileName = 'node-ca' | 'node-serving' | 'admin-client'
/** What an authority signs; it never signs another authority. */
export type LeafProfileName = Exclude<ProfileName, 'node-ca'>

const HOUR = 3_600
const DAY = 24 * HOUR
const YEAR = 365 * DAY

export const profiles: Readonly<Record<ProfileName, Profile>> = {
  'node-ca': {
    isAuthority: true,
    keyUsages: ['keyCertSign', 'cRLSign'],
    extendedKeyUsages: [],
    lifetimeSeconds: 10 * YEAR,
    maxLifetimeSeconds: 30 * YEAR,
    names: 'none',
    roles: false,
  },
  'node-serving': {
    isAuthority: false,
    keyUsages: ['digitalSignature'],
    extendedKeyUsages: ['serverAuth'],
    lifetimeSeconds: DAY,
    maxLifetimeSeconds: 7 * DAY,
    names: 'own',
    roles: false,
  },
  'admin-client': {
    isAuthority: false,
    keyUsages: ['digitalSignature'],
    extendedKeyUsages: ['clientAuth'],
    // Bounds of the profile; the roles of the certificate narrow them.
    lifetimeSeconds: 30 * DAY,
    maxLifetimeSeconds: 30 * DAY,
    names: 'none',
    roles: true,
  },
}

export type ClientRole = 'stele:reader' | 'stele:operator' | 'stele:admin' | 'stele:etcd-backup'

/** Lifetimes of client certificates by role, in seconds. The more a role may do, the shorter it lives unless asked otherwise. */
export const clientRoles: Readonly<
  Record<ClientRole, { readonly lifetimeSeconds: number; readonly maxLifetimeSeconds: number }>
> = {
  'stele:reader': { lifetimeSeconds: 30 * DAY, maxLifetimeSeconds: 30 * DAY },
  'stele:operator': { lifetimeSeconds: 7 * DAY, maxLifetimeSeconds: 30 * DAY },
  'stele:admin': { lifetimeSeconds: 12 * HOUR, maxLifetimeSeconds: 30 * DAY },
  'stele:etcd-backup': { lifetimeSeconds: 30 * DAY, maxLifetimeSeconds: 30 * DAY },
}

export function isClientRole(role: string): role is ClientRole {
  return Object.hasOwn(clientRoles, role)
}

/**
 * Returns the lifetime in seconds: what was asked for, or the default; of several roles the shortest counts. Throws PkiFault `lifetime_invalid`
 * above the cap or below a second, `role_unknown`.
 */
export function lifetimeOf(
  name: ProfileName,
  roles: readonly string[],
  requested: number | undefined,
): number {
  const bounds = [profiles[name], ...roles.map(boundsOfRole)]
  const cap = Math.min(...bounds.map((bound) => bound.maxLifetimeSeconds))
  const lifetime = requested ?? Math.min(...bounds.map((bound) => bound.lifetimeSeconds))
  if (Number.isFinite(lifetime) && lifetime >= 1 && lifetime <= cap) return Math.floor(lifetime)
  throw new PkiFault('lifetime_invalid', `the lifetime of such a certificate is 1 to ${cap} seconds`)
}

function boundsOfRole(role: string): {
  readonly lifetimeSeconds: number
  readonly maxLifetimeSeconds: number
} {
  if (isClientRole(role)) return clientRoles[role]
  const known = Object.keys(clientRoles).join(', ')
  throw new PkiFault('role_unknown', 'there is no such role', { hint: `the roles are ${known}` })
}
