/**
 * Signs the certificates of nodes, for TrustService.
 *
 * Invariants: every failure of the credential gives the same answer, after the same work; what a request asks for reaches a certificate only
 * through `checkNodeRequest`; the book is durable before the certificate leaves; the same key again is the same enrolment and no second use.
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
    const again = known !== undefined && known.username === request.username
    if (state !== 'usable' && !(state === 'used_up' && again)) {
      onReason(`credential_${state}`)
      throw joinRefused()
    }
    const grant = this.#check(csr, peerAddress, authority, again ? known.node : undefined)
    return this.#issue(csr, grant, authority, {
      username: request.username,
      countUse: !again,
      replaces: again ? known.node : undefined,
    })
  }

  /** Returns the next certificate of a node that proves the key of its present one. */
  async renew(
    request: { readonly csr: string; readonly certificate: string; readonly signature: Buffer },
    peerAddress: string,
  ): Promise<Signed> {
    const authority = this.#authority()
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
    const enrolment = this.#book.content.enrolments.find(
      (one) => one.keyFingerprint === present.value.spkiFingerprint,
    )
    if (enrolment === undefined || this.#book.isDenied(present.value.serial)) {
      throw new RpcFault('permission_denied', 'renewal_refused', 'this certificate may not be renewed here', {
        hint: 'join again with a join credential',
      })
    }
    const grant = this.#check(csr, peerAddress, authority, enrolment.node)
    if (!namesOf(csr).includes(enrolment.node)) {
      throw new RpcFault('invalid_argument', 'renewal_name_changed', 'a renewal keeps the name of the node')
    }
    return this.#issue(csr, grant, authority, {
      username: enrolment.username,
      countUse: false,
      replaces: enrolment.node,
    })
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

  #check(
    csr: ParsedCsr,
    peerAddress: string,
    authority: SigningAuthority,
    self: string | undefined,
  ): NodeGrant {
    const taken = this.#book.taken(self)
    const grant = checkNodeRequest(csr, {
      peerAddress,
      takenNames: taken.names,
      takenAddresses: taken.addresses,
      reservedNames: authority.reservedNames,
      reservedAddresses: authority.reservedAddresses,
    })
    return accepted(grant)
  }

  async #issue(
    csr: ParsedCsr,
    grant: NodeGrant,
    authority: SigningAuthority,
    options: { readonly username: string; readonly countUse: boolean; readonly replaces: string | undefined },
  ): Promise<Signed> {
    const issued = await issueCertificate({
      profile: 'node-serving',
      publicKey: csr.publicKey,
      subject: { commonName: grant.commonName },
      dnsNames: grant.dnsNames,
      ipAddresses: grant.ipAddresses,
      authority: authority.authority,
      now: this.#book.clock.now(),
    })
    const before = this.#book.content.enrolments.find((one) => one.node === options.replaces)
    const enrolment: EnrolmentRecord = {
      node: grant.commonName,
      keyFingerprint: csr.spkiFingerprint,
      dnsNames: [...grant.dnsNames],
      addresses: [...grant.ipAddresses],
      username: options.username,
      enrolledAt: before?.enrolledAt ?? this.#book.clock.now().toISOString(),
      serial: issued.serial,
      notAfter: issued.notAfter.toISOString(),
    }
    this.#enter(enrolment, options)
    return {
      certificate: issued.certificatePem,
      authorities: authority.authorities.join('\n'),
      node: enrolment.node,
    }
  }

  /** The last check and the write are one synchronous step: of two racing requests for a name, address or last use one loses. */
  #enter(
    enrolment: EnrolmentRecord,
    options: { readonly countUse: boolean; readonly replaces: string | undefined; readonly username: string },
  ): void {
    const taken = this.#book.taken(options.replaces)
    const foreign = (owner: string | undefined) => owner !== undefined && owner !== enrolment.keyFingerprint
    if (
      foreign(taken.names.get(enrolment.node)) ||
      enrolment.addresses.some((one) => foreign(taken.addresses.get(one)))
    ) {
      throw new RpcFault(
        'aborted',
        'enrolment_raced',
        'another node took this name or address at the same moment',
      )
    }
    const record = this.#book.record(options.username)
    if (
      options.countUse &&
      (record === undefined || checkJoinCredential(record, this.#book.clock.now()) !== 'usable')
    ) {
      throw joinRefused()
    }
    this.#book.update((content) => ({
      ...content,
      records: content.records.map((one) =>
        one.username === options.username && options.countUse ? { ...one, uses: one.uses + 1 } : one,
      ),
      enrolments: [
        ...content.enrolments.filter((one) => one.node !== options.replaces && one.node !== enrolment.node),
        enrolment,
      ],
    }))
  }
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

function namesOf(csr: ParsedCsr): readonly string[] {
  return csr.subject.commonName === undefined ? csr.dnsNames : [csr.subject.commonName, ...csr.dnsNames]
}
