import { type CredentialServiceService, type Enrolment, type JoinCredential } from '#api'
import { checkJoinCredential, mintJoinCredential, type JoinCredentialRecord } from '#pki'
import { RpcFault, type Handlers } from '#rpc'
import type { EnrolmentRecord, TrustBook } from '../credential/trust-book.ts'
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
      if (book.content.records.length >= MAX_RECORDS) {
        throw new RpcFault('resource_exhausted', 'credentials_full', 'there are too many join credentials', {
          hint: 'revoke some',
        })
      }
      requireText(request.description, 'description')
      const lifetimeSeconds = lifetimeOf(request.lifetime)
      const limits = request.maxUses === 0 ? {} : { maxUses: request.maxUses }
      const minted = await mintJoinCredential({ now: clock.now(), lifetimeSeconds, ...limits })
      const record =
        request.description === '' ? minted.record : { ...minted.record, description: request.description }
      // The key first: after a crash in between, a repeated call is refused instead of minting a second password.
      operations.keep(operations.newId(), call, { state: 'done', answer: '' })
      book.update((content) => ({ ...content, records: [...content.records, record] }))
      return { credential: toCredential(record, clock.now()), password: minted.password }
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
      book.update((content) => ({
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
      }
      if (!book.isDenied(request.serial))
        book.update((content) => ({ ...content, denied: [...content.denied, entry] }))
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
        book.update((content) => ({
          ...content,
          enrolments: content.enrolments.filter((one) => one.node !== request.node),
        }))
      }
      return { enrolment: toEnrolment(enrolment) }
    },
  }
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
