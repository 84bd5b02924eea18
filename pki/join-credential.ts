/**
 * Join credentials: a username, which is public, and a password that is kept as a scrypt hash only.
 *
 * Invariants: each check costs one scrypt of the same size, whether the username exists or not and whatever the password is; a record without a
 * usable hash lets nobody in; nothing here throws because of what a stranger sent.
 */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { PkiFault } from './fault.ts'

export type JoinCredentialRecord = {
  readonly username: string
  /** `$scrypt$ln=15,r=8,p=1$<salt>$<hash>`, base64url. */
  readonly passwordHash: string
  /** RFC 3339, as are the other times. */
  readonly createdAt: string
  readonly expiresAt?: string
  readonly maxUses?: number
  readonly uses: number
  readonly revokedAt?: string
  readonly description?: string
}

export type JoinCredentialState = 'usable' | 'expired' | 'used_up' | 'revoked'

type ScryptHash = {
  readonly salt: Buffer
  readonly hash: Buffer
}

const MAX_PASSWORD_BYTES = 256
const DEFAULT_LIFETIME_SECONDS = 24 * 3_600
const HASH_BYTES = 32
const SALT_BYTES = 16
/** 32 MiB and about 0.1 s (OWASP's floor for scrypt is N = 2^17 for passwords that people choose; these are 160 random bits). */
const COST = { ln: 15, r: 8, p: 1 } as const
const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567'

/**
 * Returns a new credential; the password is in no other place than this answer. Lives 24 hours when not said otherwise, any number of uses.
 * Rejects with PkiFault `credential_invalid`.
 */
export async function mintJoinCredential(input: {
  readonly now: Date
  readonly lifetimeSeconds?: number
  readonly maxUses?: number
}): Promise<{ readonly username: string; readonly password: string; readonly record: JoinCredentialRecord }> {
  const { now, lifetimeSeconds = DEFAULT_LIFETIME_SECONDS, maxUses } = input
  const expiresAt = new Date(now.getTime() + lifetimeSeconds * 1000)
  if (!(lifetimeSeconds > 0) || Number.isNaN(expiresAt.getTime())) {
    throw new PkiFault('credential_invalid', 'the lifetime of a join credential is positive')
  }
  if (maxUses !== undefined && !(Number.isSafeInteger(maxUses) && maxUses > 0)) {
    throw new PkiFault('credential_invalid', 'a join credential is used at least once')
  }
  const { username, password } = randomCredential()
  const record = {
    username,
    passwordHash: await hashJoinPassword(password),
    createdAt: now.toISOString(),
    expiresAt: expiresAt.toISOString(),
    ...(maxUses === undefined ? {} : { maxUses }),
    uses: 0,
  }
  return { username, password, record }
}

/** Returns a username and a password of 160 random bits, of letters and digits that no shell, URL or YAML reads otherwise. */
export function randomCredential(): { readonly username: string; readonly password: string } {
  return { username: `join-${randomText(8)}`, password: randomText(32) }
}

/** Returns the hash with its parameters and a random salt. Rejects with PkiFault `credential_invalid` for an empty password, a NUL in it, or one above 256 bytes. */
export async function hashJoinPassword(password: string): Promise<string> {
  if (!isPassword(password)) throw new PkiFault('credential_invalid', 'a password has 1 to 256 bytes')
  const salt = randomBytes(SALT_BYTES)
  const hash = await derive(password, salt)
  return `$scrypt$ln=${COST.ln},r=${COST.r},p=${COST.p}$${salt.toString('base64url')}$${hash.toString('base64url')}`
}

/** Whether the password is the record's. An unknown username is passed as undefined, and costs the same. Never rejects. */
export async function verifyJoinPassword(
  record: JoinCredentialRecord | undefined,
  password: string,
): Promise<boolean> {
  const stored = record === undefined ? undefined : parseHash(record.passwordHash)
  const isCandidate = stored !== undefined && isPassword(password)
  const against = stored ?? { salt: Buffer.alloc(SALT_BYTES), hash: Buffer.alloc(HASH_BYTES) }
  try {
    const derived = await derive(isCandidate ? password : 'not a password', against.salt)
    return timingSafeEqual(derived, against.hash) && isCandidate
  } catch {
    // scrypt fails for want of memory only; the answer is then no, not a crash.
    return false
  }
}

/** Returns whether a credential can be used now. A time that cannot be read counts as passed. Pure. */
export function checkJoinCredential(record: JoinCredentialRecord, now: Date): JoinCredentialState {
  if (record.revokedAt !== undefined) return 'revoked'
  if (record.expiresAt !== undefined && !(now.getTime() < Date.parse(record.expiresAt))) return 'expired'
  if (record.maxUses !== undefined && !(record.uses < record.maxUses)) return 'used_up'
  return 'usable'
}

/** scrypt pads its key with zeros (HMAC, RFC 2104), so that a password and the same with a NUL behind it would be equal: no NUL. */
function isPassword(password: string): boolean {
  return password.length > 0 && !password.includes('\0') && Buffer.byteLength(password) <= MAX_PASSWORD_BYTES
}

function randomText(length: number): string {
  // 256 is a multiple of 32, so that each letter is as likely as the others.
  return Array.from(randomBytes(length), (octet) => BASE32.charAt(octet % BASE32.length)).join('')
}

/** Returns undefined for a hash that is not ours, or of another cost: with one cost only, no record answers faster than another. */
function parseHash(text: string): ScryptHash | undefined {
  const [, salt, hash] = /^\$scrypt\$ln=15,r=8,p=1\$([\w-]{22})\$([\w-]{43})$/.exec(text) ?? []
  if (salt === undefined || hash === undefined) return undefined
  return { salt: Buffer.from(salt, 'base64url'), hash: Buffer.from(hash, 'base64url') }
}

async function derive(password: string, salt: Buffer): Promise<Buffer> {
  const { ln, r, p } = COST
  const N = 2 ** ln
  return new Promise((resolve, reject) => {
    scrypt(password, salt, HASH_BYTES, { N, r, p, maxmem: 256 * N * r }, (error, key) => {
      if (error === null) resolve(key)
      else reject(error)
    })
  })
}
