/**
 * Signs the certificates of nodes, for TrustService.
 *
 * Invariants: every failure of the credential gives the same answer, after the same work; what a request asks for reaches a certificate only
 * through `checkNodeRequest`; the book is durable before the certificate leaves; the same key for the same name again is the same enrolment and
 * no second use; a key has one enrolment at most; nothing is signed for a denied key or out of a damaged book.
 */
import {
  checkJoinCredential,
  checkNodeRequest,
  issueCertificate,
  parseCsr,
  verifyJoinPassword,
  verifyNodeCertificate,
  verifyRenewal,
  type Authority,
  type NodeGrant,
  type ParsedCsr,
} from '#pki'
import { RpcFault } from '#rpc'
import type { EnrolmentRecord, TrustBook } from './trust-book.ts'

/** What the signer must know of the control plane it runs on; read anew for each request. */
export type SigningAuthority = {
  readonly authority: Authority
  readonly authorities: readonly string[]
  readonly reservedNames: readonly string[]
  readonly reservedAddresses: readonly string[]
}

export type SignerOptions = {
  readonly book: TrustBook
  /** Throws FAILED_PRECONDITION when this node does not sign. */
  readonly authority: () => SigningAuthority
}

export type Signed = { readonly certificate: string; readonly authorities: string; readonly node: string }

/** Scrypt holds 32 MiB for each check; more at once are refused, and trust throttles long before. */
const MAX_PASSWORD_CHECKS = 4
/** The book is written whole for each certificate: some 5 MB with this many. */
const MAX_ENROLMENTS = 10_000
/** Certificates of one node that a denial is looked for among. */
const MAX_EARLIER = 16

/** What is signed for whom; `replaces` is the node that the key has now. */
type Entry = {
  readonly csr: ParsedCsr
  readonly peerAddress: string
  readonly authority: SigningAuthority
  readonly username: string
  readonly countUse: boolean
  readonly replaces: EnrolmentRecord | undefined
  /** The certificate that is renewed. */
  readonly present?: string
}

export class Signer {
  readonly #book: TrustBook
  readonly #authority: () => SigningAuthority
  #checks = 0

  constructor(options: SignerOptions) {
    this.#book = options.book
    this.#authority = options.authority
  }

  /** Returns a certificate for the CSR. `onReason` is told why a credential was refused; the caller of the RPC is not. */
  async sign(
    request: { readonly username: string; readonly password: string; readonly csr: string },
    peerAddress: string,
    onReason: (reason: string) => void,
  ): Promise<Signed> {
    const authority = this.#authority()
    this.#book.requireWhole()
    const record = this.#book.record(request.username)
    if (!(await this.#passwordIsRight(record, request.password))) {
      onReason(record === undefined ? 'username_unknown' : 'password_wrong')
      throw joinRefused()
    }
    const csr = accepted(parseCsr(request.csr))
    // Read again: the record may have been revoked or used up while the password was checked.
    const current = this.#book.record(request.username)
    const state = current === undefined ? 'revoked' : checkJoinCredential(current, this.#book.clock.now())
    const known = this.#book.content.enrolments.find((one) => one.keyFingerprint === csr.spkiFingerprint)
    const again = known !== undefined && known.username === request.username && known.node === nodeNameOf(csr)
    if (state !== 'usable' && !(state === 'used_up' && again)) {
      onReason(`credential_${state}`)
      throw joinRefused()
    }
    const { username } = request
    return this.#issue({ csr, peerAddress, authority, username, countUse: !again, replaces: known })
  }

  /**
   * Returns the next certificate of a node that proves the key of its present one: the newest it got, or the one that this was got with, for the
   * answer to a renewal may be lost.
   */
  async renew(
    request: { readonly csr: string; readonly certificate: string; readonly signature: Buffer },
    peerAddress: string,
  ): Promise<Signed> {
    const authority = this.#authority()
    this.#book.requireWhole()
    const now = this.#book.clock.now()
    const present = verifyNodeCertificate(request.certificate, { authorities: authority.authorities, now })
    if (!present.ok) throw new RpcFault('unauthenticated', present.error.code, present.error.message)
    const csr = accepted(parseCsr(request.csr))
    if (!verifyRenewal(request.certificate, csr.der, request.signature)) {
      throw new RpcFault(
        'unauthenticated',
        'renewal_proof_wrong',
        'the request is not signed by the key of that certificate',
      )
    }
    const { spkiFingerprint, serial } = present.value
    const enrolment = this.#book.content.enrolments.find((one) => one.keyFingerprint === spkiFingerprint)
    if (enrolment === undefined || !this.#mayRenew(enrolment, serial)) throw renewalRefused()
    if (nodeNameOf(csr) !== enrolment.node) {
      throw new RpcFault('invalid_argument', 'renewal_name_changed', 'a renewal keeps the name of the node')
    }
    const { username } = enrolment
    return this.#issue({
      csr,
      peerAddress,
      authority,
      username,
      countUse: false,
      replaces: enrolment,
      present: serial,
    })
  }

  #mayRenew(enrolment: EnrolmentRecord, serial: string): boolean {
    if (serial !== enrolment.serial && serial !== enrolment.previousSerial) return false
    return this.#book.isDenied(serial) === false && !this.#book.isKeyDenied(enrolment.keyFingerprint)
  }

  async #passwordIsRight(
    record: Parameters<typeof verifyJoinPassword>[0],
    password: string,
  ): Promise<boolean> {
    if (this.#checks >= MAX_PASSWORD_CHECKS) {
      throw new RpcFault('resource_exhausted', 'signer_busy', 'too many nodes join at this moment', {
        hint: 'try again in a second',
      })
    }
    this.#checks += 1
    try {
      return await verifyJoinPassword(record, password)
    } finally {
      this.#checks -= 1
    }
  }

  /** Returns what the request is granted as the book is now; throws when the key is denied or the book is full. */
  #check(entry: Entry): NodeGrant {
    const { csr, authority, peerAddress, replaces } = entry
    if (this.#book.isKeyDenied(csr.spkiFingerprint)) {
      throw new RpcFault('permission_denied', 'key_denied', 'a certificate of this key was denied', {
        hint: 'an administrator forgets the enrolment of the node, if it may join again',
      })
    }
    if (replaces === undefined && this.#book.content.enrolments.length >= MAX_ENROLMENTS) {
      throw new RpcFault('resource_exhausted', 'enrolments_full', 'too many nodes have joined here', {
        hint: 'an administrator forgets those that are gone',
      })
    }
    const taken = this.#book.taken(replaces?.node)
    const grant = checkNodeRequest(csr, {
      peerAddress,
      takenNames: taken.names,
      takenAddresses: taken.addresses,
      reservedNames: authority.reservedNames,
      reservedAddresses: authority.reservedAddresses,
    })
    return accepted(grant)
  }

  async #issue(entry: Entry): Promise<Signed> {
    const { csr, authority, username, replaces, present } = entry
    const grant = this.#check(entry)
    const issued = await issueCertificate({
      profile: 'node-serving',
      publicKey: csr.publicKey,
      subject: { commonName: grant.commonName },
      dnsNames: grant.dnsNames,
      ipAddresses: grant.ipAddresses,
      authority: authority.authority,
      now: this.#book.clock.now(),
    })
    this.#enter(entry, (before) => {
      const previous = present ?? before?.serial
      const earlier = before === undefined ? [] : [before.serial, ...(before.earlierSerials ?? [])]
      return {
        node: grant.commonName,
        keyFingerprint: csr.spkiFingerprint,
        dnsNames: [...grant.dnsNames],
        addresses: [...grant.ipAddresses],
        username,
        enrolledAt: replaces?.enrolledAt ?? this.#book.clock.now().toISOString(),
        serial: issued.serial,
        notAfter: issued.notAfter.toISOString(),
        ...(previous === undefined ? {} : { previousSerial: previous }),
        ...(earlier.length === 0 ? {} : { earlierSerials: earlier.slice(0, MAX_EARLIER) }),
      }
    })
    return {
      certificate: issued.certificatePem,
      authorities: authority.authorities.join('\n'),
      node: grant.commonName,
    }
  }

  /**
   * The last check and the write are one synchronous step: of two racing requests for a name, address or last use one loses, and so does one
   * that races with a denial.
   */
  #enter(entry: Entry, enrolmentAfter: (before: EnrolmentRecord | undefined) => EnrolmentRecord): void {
    const { username, countUse } = entry
    const before = this.#unchanged(entry)
    this.#checkAgain(entry)
    const record = this.#book.record(username)
    const usable = record !== undefined && checkJoinCredential(record, this.#book.clock.now()) === 'usable'
    if (countUse && !usable) throw joinRefused()
    const enrolment = enrolmentAfter(before)
    this.#book.update((content) => ({
      ...content,
      records: content.records.map((one) =>
        one.username === username && countUse ? { ...one, uses: one.uses + 1 } : one,
      ),
      enrolments: [...content.enrolments.filter((one) => one !== before), enrolment],
    }))
  }

  /** Returns the enrolment that is replaced, as it is now; throws ABORTED when another request of this node or key came first. */
  #unchanged({ csr, replaces, present }: Entry): EnrolmentRecord | undefined {
    const { enrolments } = this.#book.content
    const before = enrolments.find((one) => one.node === replaces?.node)
    // A key has one enrolment: of two first requests with one key the second starts again.
    const other = enrolments.find((one) => one.keyFingerprint === csr.spkiFingerprint && one !== before)
    if (before?.keyFingerprint !== replaces?.keyFingerprint || other !== undefined) throw enrolmentRaced()
    if (before !== undefined && present !== undefined && !this.#mayRenew(before, present))
      throw renewalRefused()
    return before
  }

  #checkAgain(entry: Entry): void {
    try {
      this.#check(entry)
    } catch (error) {
      // What was granted a moment ago and is invalid now was taken in between; the node asks again and is told which rule it is.
      throw error instanceof RpcFault && error.status === 'invalid_argument' ? enrolmentRaced() : error
    }
  }
}

function enrolmentRaced(): RpcFault {
  return new RpcFault(
    'aborted',
    'enrolment_raced',
    'another request took this name, address or key meanwhile',
  )
}

function renewalRefused(): RpcFault {
  return new RpcFault('permission_denied', 'renewal_refused', 'this certificate may not be renewed here', {
    hint: 'join again with a join credential',
  })
}

/** The one answer to a wrong username, a wrong password and a credential that is expired, used up or revoked. */
function joinRefused(): RpcFault {
  return new RpcFault('unauthenticated', 'join_refused', 'the join credential was refused', {
    hint: 'ask an administrator for a join credential that is usable: stelectl token list',
  })
}

type Checked<T> =
  | { readonly ok: true; readonly value: T }
  | {
      readonly ok: false
      readonly error: { readonly code: string; readonly message: string; readonly hint?: string | undefined }
    }

function accepted<T>(result: Checked<T>): T {
  if (result.ok) return result.value
  const { code, message, hint } = result.error
  throw new RpcFault('invalid_argument', code, message, hint === undefined ? {} : { hint })
}

/** The name that the request check takes as that of the node. */
function nodeNameOf(csr: ParsedCsr): string | undefined {
  return csr.subject.commonName ?? csr.dnsNames[0]
}
