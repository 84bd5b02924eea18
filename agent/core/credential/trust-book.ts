/**
 * Who may join, who joined, and whose certificate is refused: one document on STATE, so that a use that was counted and the enrolment it paid
 * for can never be torn apart by a crash.
 *
 * Invariants: passwords are here as scrypt hashes only; every change is durable before it is answered; what an administrator changes and what
 * was imported is in both copies, so that the copy before the last never lacks a denial or a revocation; a damaged book lets nobody join until
 * an administrator changes it, which acknowledges the damage.
 */
import { z } from 'zod'
import type { Clock } from '#kit/clock'
import type { JoinCredentialRecord } from '#pki'
import { RpcFault } from '#rpc'
import type { JsonFile } from '../store/json-file.ts'

const recordSchema = z.strictObject({
  username: z.string(),
  passwordHash: z.string(),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime().exactOptional(),
  maxUses: z.int().nonnegative().exactOptional(),
  uses: z.int().nonnegative(),
  revokedAt: z.iso.datetime().exactOptional(),
  description: z.string().exactOptional(),
})

const enrolmentSchema = z.strictObject({
  node: z.string(),
  keyFingerprint: z.string(),
  dnsNames: z.array(z.string()),
  addresses: z.array(z.string()),
  username: z.string(),
  enrolledAt: z.iso.datetime(),
  serial: z.string(),
  notAfter: z.iso.datetime(),
  /** The certificate that the newest one was got with; it may be renewed too, for the answer to its renewal may have been lost. */
  previousSerial: z.string().exactOptional(),
  /** The certificates before the newest, newest first, so that a denial of one of them finds the key. */
  earlierSerials: z.array(z.string()).exactOptional(),
})
export type EnrolmentRecord = z.infer<typeof enrolmentSchema>

const deniedSchema = z.strictObject({
  serial: z.string(),
  reason: z.string(),
  at: z.iso.datetime(),
  by: z.string(),
  /** The key of the enrolment that the certificate was of: nothing is signed for it until that enrolment is forgotten. */
  keyFingerprint: z.string().exactOptional(),
})
export type DeniedCertificate = z.infer<typeof deniedSchema>

export const trustBookSchema = z.strictObject({
  records: z.array(recordSchema),
  enrolments: z.array(enrolmentSchema),
  denied: z.array(deniedSchema),
  /** Usernames that came with the configuration, so that a revoked one is not brought back by the next boot. */
  imported: z.array(z.string()),
})
export type TrustBookContent = z.infer<typeof trustBookSchema>

const EMPTY: TrustBookContent = { records: [], enrolments: [], denied: [], imported: [] }

/** True once a book was written: what tells a book that is gone from one that never was. */
export const trustBookMarkerSchema = z.literal(true)

export class TrustBook {
  readonly #file: JsonFile<TrustBookContent>
  readonly #marker: JsonFile<true> | undefined
  readonly clock: Clock
  #content: TrustBookContent
  #state: 'whole' | 'older' | 'lost'
  #marked: boolean

  /** `marker` stands in another directory than the book. */
  constructor(file: JsonFile<TrustBookContent>, clock: Clock, marker?: JsonFile<true>) {
    this.#file = file
    this.#marker = marker
    this.clock = clock
    const stored = file.read()
    const mark = marker?.read().kind ?? 'absent'
    this.#marked = mark === 'current'
    this.#content = 'value' in stored ? stored.value : EMPTY
    if (stored.kind === 'previous') this.#state = 'older'
    else if (stored.kind === 'damaged' || (stored.kind === 'absent' && mark !== 'absent'))
      this.#state = 'lost'
    else this.#state = 'whole'
  }

  /** Whether the book was damaged or is gone, and no administrator has changed it since. */
  get damaged(): boolean {
    return this.#state !== 'whole'
  }

  get content(): TrustBookContent {
    return this.#content
  }

  record(username: string): JoinCredentialRecord | undefined {
    return this.#content.records.find((record) => record.username === username)
  }

  /** Whether a certificate is denied; `unknown` while the list is lost. */
  isDenied(serial: string): boolean | 'unknown' {
    if (this.#content.denied.some((one) => one.serial === serial)) return true
    return this.#state === 'lost' ? 'unknown' : false
  }

  /** Whether a certificate of the node that holds this key was denied, and the node was not forgotten since. */
  isKeyDenied(keyFingerprint: string): boolean {
    return this.#content.denied.some((one) => one.keyFingerprint === keyFingerprint)
  }

  /** Throws FAILED_PRECONDITION while the book is damaged. */
  requireWhole(): void {
    if (!this.damaged) return
    throw new RpcFault(
      'failed_precondition',
      'trust_book_damaged',
      'the trust book of this node is damaged',
      {
        hint: 'look at its denials, credentials and nodes, and change one of them: that acknowledges the damage',
      },
    )
  }

  /**
   * Replaces the content, durably; synchronous, so that reading, deciding and writing cannot be interleaved. Throws FAILED_PRECONDITION while
   * the book is damaged.
   */
  update(change: (content: TrustBookContent) => TrustBookContent): void {
    this.requireWhole()
    this.#write(change(this.#content), 1)
  }

  /** As `update`, into both copies: for what must not come undone when one of them is damaged. */
  updateBoth(change: (content: TrustBookContent) => TrustBookContent): void {
    this.requireWhole()
    this.#write(change(this.#content), 2)
  }

  /**
   * As `updateBoth`, for an administrator: it acknowledges damage and makes the book anew. `configured` is the username in the configuration: a
   * damaged book cannot tell whether it was revoked, so that it is not imported again.
   */
  updateByAdministrator(
    change: (content: TrustBookContent) => TrustBookContent,
    configured: string | undefined,
  ): void {
    const next = change(this.#content)
    const shut = this.damaged && configured !== undefined && !next.imported.includes(configured)
    this.#write(shut ? { ...next, imported: [...next.imported, configured] } : next, 2)
  }

  #write(next: TrustBookContent, copies: 1 | 2): void {
    this.#file.write(next)
    // What was current becomes the other copy at each write.
    if (copies === 2) this.#file.write(next)
    this.#content = next
    this.#state = 'whole'
    if (this.#marked) return
    this.#marker?.write(true)
    this.#marked = true
  }

  /** Names and addresses that belong to a key, as the request check of the PKI wants them; `except` leaves one node out. */
  taken(except?: string): {
    readonly names: ReadonlyMap<string, string>
    readonly addresses: ReadonlyMap<string, string>
  } {
    const others = this.#content.enrolments.filter((one) => one.node !== except)
    return {
      names: new Map(
        others.flatMap((one) => [one.node, ...one.dnsNames].map((name) => [name, one.keyFingerprint])),
      ),
      addresses: new Map(
        others.flatMap((one) => one.addresses.map((address) => [address, one.keyFingerprint])),
      ),
    }
  }
}
