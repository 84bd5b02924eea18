import type { VerifiedClient } from '#pki'

export const ROLES = ['stele:reader', 'stele:operator', 'stele:admin', 'stele:etcd-backup'] as const

/** What a caller may do. Sets, not a ladder: each method lists every role that may call it. */
export type Role = (typeof ROLES)[number]

/** A caller, as its verified certificate says. */
export type Identity = {
  readonly commonName: string
  readonly roles: readonly Role[]
  /** Organizations of the certificate that are no role of ours; they grant nothing. */
  readonly unknownRoles: readonly string[]
  /** Lowercase hex. */
  readonly serial: string
  readonly fingerprint: string
  readonly notAfter: Date
  /** IP address the caller came from; for records alone. */
  readonly address: string
}

/** Returns who calls. A role counts only when it is spelled exactly: blanks, other case and unknown names grant nothing. */
export function toIdentity(client: VerifiedClient, address: string): Identity {
  const known = new Set<string>(client.roles)
  return {
    commonName: client.commonName,
    roles: ROLES.filter((role) => known.has(role)),
    unknownRoles: client.roles.filter((role) => !isRole(role)),
    serial: client.serial,
    fingerprint: client.fingerprint,
    notAfter: client.notAfter,
    address,
  }
}

function isRole(text: string): text is Role {
  return (ROLES as readonly string[]).includes(text) // widened for `includes`, which takes only members otherwise
}
