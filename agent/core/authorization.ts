/**
 * Who may call what: the one place. Keys are full method paths as on the wire.
 *
 * Invariants: a method without a row is refused at run time and stops core at start; roles are sets, so a row lists every role it means.
 */
import type { Role } from '#rpc'
import { CoreFault } from './fault.ts'

/** `'trust'`: no certificate, reachable on trust's socket alone; the method checks its own proof. */
export type Row = readonly Role[] | 'trust'

const ADMIN: readonly Role[] = ['stele:admin']
const OPERATE: readonly Role[] = ['stele:operator', 'stele:admin']
const READ: readonly Role[] = ['stele:reader', 'stele:operator', 'stele:admin']
const EVERYONE: readonly Role[] = ['stele:reader', 'stele:operator', 'stele:admin', 'stele:etcd-backup']

export const authorization: Readonly<Record<string, Row>> = {
  '/stele.agent.v1.SystemService/Version': EVERYONE,
  '/stele.agent.v1.SystemService/WhoAmI': EVERYONE,
  '/stele.agent.v1.SystemService/GetStatus': READ,
  '/stele.agent.v1.SystemService/WatchStatus': READ,
  '/stele.agent.v1.SystemService/GetBootSource': READ,
  '/stele.agent.v1.SystemService/Reboot': OPERATE,
  '/stele.agent.v1.SystemService/Shutdown': OPERATE,
  '/stele.agent.v1.ConfigService/Get': READ,
  '/stele.agent.v1.ConfigService/GetSecrets': ADMIN,
  '/stele.agent.v1.ConfigService/Validate': READ,
  '/stele.agent.v1.ConfigService/Apply': ADMIN,
  '/stele.agent.v1.ServiceService/List': READ,
  '/stele.agent.v1.ServiceService/Get': READ,
  '/stele.agent.v1.ServiceService/Restart': OPERATE,
  '/stele.agent.v1.ResourceService/Get': READ,
  '/stele.agent.v1.IntegrityService/GetIntegrity': READ,
  '/stele.agent.v1.LogService/Logs': READ,
  '/stele.agent.v1.LogService/KernelLog': READ,
  '/stele.agent.v1.EventService/Watch': READ,
  '/stele.agent.v1.CredentialService/CreateJoinCredential': ADMIN,
  '/stele.agent.v1.CredentialService/ListJoinCredentials': ADMIN,
  '/stele.agent.v1.CredentialService/RevokeJoinCredential': ADMIN,
  '/stele.agent.v1.CredentialService/DenyCertificate': ADMIN,
  '/stele.agent.v1.CredentialService/ListEnrolments': ADMIN,
  '/stele.agent.v1.CredentialService/ForgetEnrolment': ADMIN,
  '/stele.agent.v1.TrustService/Sign': 'trust',
  '/stele.agent.v1.TrustService/Renew': 'trust',
}

export type Decision =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'no-row' }
  | { readonly kind: 'denied'; readonly needs: readonly Role[] }

/** Decides from the table alone whether these roles may call the method at `path`. Pure and total. */
export function authorize(path: string, roles: readonly Role[], table = authorization): Decision {
  const row = Object.hasOwn(table, path) ? table[path] : undefined
  if (row === undefined || row === 'trust') return { kind: 'no-row' }
  return roles.some((role) => row.includes(role)) ? { kind: 'allowed' } : { kind: 'denied', needs: row }
}

/** Full names of the methods that these roles may call, as in `stele.agent.v1.SystemService/Version`. */
export function methodsFor(roles: readonly Role[]): readonly string[] {
  return Object.keys(authorization)
    .filter((path) => authorize(path, roles).kind === 'allowed')
    .map((path) => path.slice(1))
}

/** Throws `authorization_incomplete` unless every served path has a row of the right sort. */
export function assertComplete(served: {
  readonly agent: readonly string[]
  readonly trust: readonly string[]
}): void {
  const bad = [
    ...served.agent.filter((path) => !Array.isArray(authorization[path])),
    ...served.trust.filter((path) => authorization[path] !== 'trust'),
  ]
  if (bad.length > 0) {
    throw new CoreFault(
      'authorization_incomplete',
      `served without a row in the authorization table: ${bad.join(', ')}`,
    )
  }
}
