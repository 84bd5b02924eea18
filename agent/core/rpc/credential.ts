import { type CredentialServiceService, type Enrolment, type JoinCredential } from '#api'
import { checkJoinCredential, mintJoinCredential, type JoinCredentialRecord } from '#pki'
import { RpcFault, type Handlers } from '#rpc'
import type { DeniedCertificate, EnrolmentRecord, TrustBook } from '../credential/trust-book.ts'
import type { Node } from '../node.ts'
import type { Operations } from '../operation.ts'
import { operationCall, requireConfiguration, requireUp, type AgentContext } from './context.ts'
import { CredentialServiceService as service } from '#api'

const MINUTE = 60
const DAY = 24 * 60 * MINUTE
const MAX_RECORDS = 1_000
const MAX_DENIED = 10_000
const MAX_TEXT = 200

export type CredentialOptions = {
  readonly node: Node
  readonly book: TrustBook
  readonly operations: Operations
}

export function credentialHandlers(
  options: CredentialOptions,
): Handlers<typeof CredentialServiceService, AgentContext> {
  const { node, book, operations } = options
  const { clock } = node
  // Credentials that are being made: they count against the cap before they are in the book.
  let minting = 0
  reportDamage(node, book)
  const change = (how: Parameters<TrustBook['update']>[0]) => {
    book.updateByAdministrator(how, node.active?.parsed.node.trust?.username)
    reportDamage(node, book)
  }
  return {
    createJoinCredential: async (request, context) => {
      requireControlPlane(node)
      requireUp(node)
      const codec = service.createJoinCredential
      const call = operationCall(
        context,
        request.idempotencyKey,
        codec.requestSerialize({ ...request, idempotencyKey: '' }),
      )
      if (operations.find(call) !== undefined) {
        throw new RpcFault(
          'already_exists',
          'credential_exists',
          'a join credential was made with this key, and its password is not shown twice',
          {
            hint: 'revoke it and make another one',
          },
        )
      }
      if (book.content.records.length + minting >= MAX_RECORDS) {
        throw new RpcFault('resource_exhausted', 'credentials_full', 'there are too many join credentials', {
          hint: 'revoke some',
        })
      }
      requireText(request.description, 'description')
      const lifetimeSeconds = lifetimeOf(request.lifetime)
      const limits = request.maxUses === 0 ? {} : { maxUses: request.maxUses }
      const { description } = request
      // The key first, and in one step with the look for it: a repeated call, at the same moment or after a crash, mints no second password.
      const id = operations.newId()
      operations.keep(id, call, { state: 'done', answer: '' })
      minting += 1
      try {
        const minted = await mintJoinCredential({ now: clock.now(), lifetimeSeconds, ...limits })
        const record = description === '' ? minted.record : { ...minted.record, description }
        change((content) => ({ ...content, records: [...content.records, record] }))
        return { credential: toCredential(record, clock.now()), password: minted.password }
      } catch (error) {
        operations.drop(id)
        throw error
      } finally {
        minting -= 1
      }
    },

    listJoinCredentials: async () => {
      requireControlPlane(node)
      const newest = [...book.content.records].sort((a, b) => b.createdAt.localeCompare(a.createdAt))
      return { credentials: newest.map((record) => toCredential(record, clock.now())) }
    },
    revokeJoinCredential: async (request) => {
      requireControlPlane(node)
      const record = book.record(request.username)
      if (record === undefined)
        throw new RpcFault('not_found', 'credential_unknown', 'there is no such join credential')
      const revoked = { ...record, revokedAt: record.revokedAt ?? clock.now().toISOString() }
      change((content) => ({
        ...content,
        records: content.records.map((one) => (one.username === record.username ? revoked : one)),
      }))
      return { credential: toCredential(revoked, clock.now()) }
    },
    denyCertificate: async (request, { identity }) => {
      if (!/^[0-9a-f]{2,40}$/.test(request.serial)) {
        throw new RpcFault(
          'invalid_argument',
          'serial_invalid',
          'a serial number is written in lower-case hexadecimal',
        )
      }
      requireText(request.reason, 'reason')
      if (book.content.denied.length >= MAX_DENIED)
        throw new RpcFault('resource_exhausted', 'denied_full', 'the deny list is full')
      const entry = {
        serial: request.serial,
        reason: request.reason,
        at: clock.now().toISOString(),
        by: identity.commonName,
        ...keyOf(book, request.serial),
      }
      const others = book.content.denied.filter((one) => one.serial !== request.serial)
      const known = book.content.denied.find((one) => one.serial === request.serial)
      // Again: the node may have joined here since, and a damaged book is acknowledged by it.
      const denied = known === undefined ? entry : { ...known, ...keyOf(book, request.serial) }
      if (known?.keyFingerprint !== denied.keyFingerprint || known === undefined || book.damaged)
        change((content) => ({ ...content, denied: [...others, denied] }))
      return { deniedTotal: book.content.denied.length }
    },
    listEnrolments: async () => {
      requireControlPlane(node)
      const sorted = [...book.content.enrolments].sort((a, b) => (a.node < b.node ? -1 : 1))
      return { enrolments: sorted.map(toEnrolment) }
    },
    forgetEnrolment: async (request) => {
      requireControlPlane(node)
      const enrolment = book.content.enrolments.find((one) => one.node === request.node)
      if (enrolment === undefined)
        throw new RpcFault('not_found', 'enrolment_unknown', 'no node of that name joined here')
      if (!request.dryRun) {
        change((content) => ({
          ...content,
          enrolments: content.enrolments.filter((one) => one.node !== request.node),
          denied: content.denied.map((one) => withoutKey(one, enrolment.keyFingerprint)),
        }))
      }
      return { enrolment: toEnrolment(enrolment) }
    },
  }
}

/** Shows the damage of the book as a finding until it is acknowledged. */
function reportDamage(node: Node, book: TrustBook): void {
  node.setFinding(
    'trust_book_damaged',
    book.damaged
      ? {
          message: 'the trust book was damaged: no node joins or renews, and denials may be missing',
          remedy:
            'deny again what must stay denied, look at stelectl token list, and make, revoke, deny or forget one thing: that acknowledges it',
        }
      : undefined,
  )
}

/** The key of the node that this certificate was signed for, when it is known here. */
function keyOf(book: TrustBook, serial: string): { readonly keyFingerprint?: string } {
  const found = book.content.enrolments.find(
    (one) =>
      one.serial === serial || one.previousSerial === serial || one.earlierSerials?.includes(serial) === true,
  )
  return found === undefined ? {} : { keyFingerprint: found.keyFingerprint }
}

/** The serial stays denied; its key, of a node that is forgotten, may join again. */
function withoutKey(denied: DeniedCertificate, keyFingerprint: string): DeniedCertificate {
  if (denied.keyFingerprint !== keyFingerprint) return denied
  const { serial, reason, at, by } = denied
  return { serial, reason, at, by }
}

function requireControlPlane(node: Node): void {
  if (requireConfiguration(node).view.role === 'control-plane') return
  throw new RpcFault(
    'failed_precondition',
    'not_control_plane',
    'join credentials belong to control planes, and this node is a worker',
    {
      hint: 'ask a control plane',
    },
  )
}

/** Seconds; 24 hours when unset. */
function lifetimeOf(duration: { readonly seconds: bigint; readonly nanos: number } | undefined): number {
  if (duration === undefined) return DAY
  const seconds = Number(duration.seconds)
  if (seconds >= MINUTE && seconds <= 365 * DAY) return seconds
  throw new RpcFault(
    'invalid_argument',
    'lifetime_out_of_range',
    'a join credential lives 1 minute to 365 days',
  )
}

function requireText(text: string, field: string): void {
  if (text.length <= MAX_TEXT && !/\p{Cc}/u.test(text)) return
  throw new RpcFault(
    'invalid_argument',
    'text_invalid',
    `${field} has at most ${MAX_TEXT} characters and no control characters`,
  )
}

function toCredential(record: JoinCredentialRecord, now: Date): JoinCredential {
  return {
    username: record.username,
    createdAt: new Date(record.createdAt),
    expiresAt: record.expiresAt === undefined ? undefined : new Date(record.expiresAt),
    maxUses: record.maxUses ?? 0,
    uses: record.uses,
    revokedAt: record.revokedAt === undefined ? undefined : new Date(record.revokedAt),
    description: record.description ?? '',
    state: checkJoinCredential(record, now),
  }
}

function toEnrolment(record: EnrolmentRecord): Enrolment {
  return {
    node: record.node,
    keyFingerprint: record.keyFingerprint,
    addresses: [...record.addresses],
    username: record.username,
    enrolledAt: new Date(record.enrolledAt),
    serial: record.serial,
    notAfter: new Date(record.notAfter),
  }
}
