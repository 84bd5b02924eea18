/**
 * Who may join, who joined, and whose certificate is refused: one document on STATE, so that a use that was counted and the enrolment it paid
 * for can never be torn apart by a crash.
 *
 * Invariants: passwords are here as scrypt hashes only; every change is durable before it is answered; a damaged book lets nobody join.
 */
import { z } from 'zod'
import type { Clock } from '#kit/clock'
import type { JoinCredentialRecord } from '#pki'
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
})
export type EnrolmentRecord = z.infer<typeof enrolmentSchema>

const deniedSchema = z.strictObject({
  serial: z.string(),
  reason: z.string(),
  at: z.iso.datetime(),
  by: z.string(),
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

export class TrustBook {
  readonly #file: JsonFile<TrustBookContent>
  readonly clock: Clock
  readonly damaged: boolean
  #content: TrustBookContent

  constructor(file: JsonFile<TrustBookContent>, clock: Clock) {
    this.#file = file
    this.clock = clock
    const stored = file.read()
    this.#content = 'value' in stored ? stored.value : EMPTY
    this.damaged = stored.kind === 'damaged' || stored.kind === 'previous'
  }

  get content(): TrustBookContent {
    return this.#content
  }

  record(username: string): JoinCredentialRecord | undefined {
    return this.#content.records.find((record) => record.username === username)
  }

  isDenied(serial: string): boolean {
    return this.#content.denied.some((one) => one.serial === serial)
  }

  /** Replaces the content, durably; synchronous, so that reading, deciding and writing cannot be interleaved. */
  update(change: (content: TrustBookContent) => TrustBookContent): void {
    const next = change(this.#content)
    this.#file.write(next)
    this.#content = next
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
