/**
 * Where a node certificate comes from: a control plane signs its own, a worker asks a control plane.
 *
 * Invariants: no password leaves this node before the certificate of the control plane was verified against a configured authority; an answer
 * is used only when it verifies and holds this node's key; a present certificate is renewed with its own key, and the join credential is
 * shown only when there is none that is valid.
 */
import { createPublicKey } from 'node:crypto'
import { TrustServiceService } from '#api'
import type { Clock } from '#kit/clock'
import type { Endpoint } from '#kit/endpoint'
import {
  createCsr,
  issueCertificate,
  loadAuthority,
  parseCsr,
  signRenewal,
  spkiFingerprintOfKey,
  splitCertificates,
  verifyNodeCertificate,
  type Authority,
} from '#pki'
import { connect, RpcFault } from '#rpc'
import { CoreFault } from '../fault.ts'
import type { NodeView } from '../node-view.ts'
import type { NodeKey, StoredCertificate } from './identity-store.ts'

export type ObtainOptions = {
  readonly view: NodeView
  readonly key: NodeKey
  readonly addresses: readonly string[]
  readonly clock: Clock
  readonly signal: AbortSignal
  /** The valid certificate that is renewed; undefined to join. */
  readonly present: StoredCertificate | undefined
}

const CALL_DEADLINE_MS = 10_000
/** Statuses that say nothing about this node, so that asking again soon is right. */
const TRANSIENT: readonly string[] = [
  'unavailable',
  'deadline_exceeded',
  'resource_exhausted',
  'aborted',
  'internal',
  'cancelled',
]
/** Codes of failures that time alone does not mend although their status says so: the server's certificate, or ours, was refused. */
const LASTING = /certificate|authority/

/** Returns the next certificate. Throws CoreFault `identity_unreachable` (try again soon) or `identity_refused` (a person is needed). */
export async function obtainCertificate(options: ObtainOptions): Promise<StoredCertificate> {
  const { view } = options
  if (view.authorityKey !== undefined) return issueOwn(options, ownAuthority(view))
  if (view.authorities.length === 0) throw refused('the configuration names no node CA', 'set trust.ca')
  if (view.trustEndpoints.length === 0)
    throw refused('the configuration names no control plane', 'set trust.endpoints')
  if (options.present === undefined && view.joinCredential === undefined) {
    throw refused('the configuration holds no join credential', 'set trust.username and trust.password')
  }
  return askEach(options)
}

/** Returns the authority whose key the configuration holds; throws `identity_refused` when certificate and key are no pair. */
export function ownAuthority(view: NodeView): Authority {
  const privateKeyPem = view.authorityKey?.reveal()
  for (const certificatePem of view.authorities) {
    const loaded = privateKeyPem === undefined ? undefined : loadAuthority({ certificatePem, privateKeyPem })
    if (loaded?.ok === true) return loaded.value
  }
  throw refused(
    'the node CA and its key do not belong together',
    'set trust.ca and trust.caKey of one authority',
  )
}

async function issueOwn(options: ObtainOptions, authority: Authority): Promise<StoredCertificate> {
  const { view, key, addresses, clock } = options
  const issued = await issueCertificate({
    profile: 'node-serving',
    publicKey: createPublicKey(key.privateKey),
    subject: { commonName: view.name },
    dnsNames: [...new Set([view.name, ...view.extraNames])],
    ipAddresses: [...new Set([...addresses, ...view.extraAddresses])],
    authority,
    now: clock.now(),
  })
  return { certificatePem: issued.certificatePem, authorities: [...view.authorities] }
}

async function askEach(options: ObtainOptions): Promise<StoredCertificate> {
  const failures: unknown[] = []
  let lasting: CoreFault | undefined
  for (const endpoint of options.view.trustEndpoints) {
    try {
      return await ask(endpoint, options)
    } catch (error) {
      options.signal.throwIfAborted()
      const fault = classify(error)
      if (fault.code === 'identity_refused') lasting ??= fault
      failures.push(error)
    }
  }
  // One control plane that is away may have said yes: only when all refused is it a refusal.
  if (lasting !== undefined && failures.every((error) => classify(error).code === 'identity_refused'))
    throw lasting
  throw new CoreFault('identity_unreachable', 'no control plane signed the certificate', {
    cause: new AggregateError(failures),
  })
}

async function ask(endpoint: Endpoint, options: ObtainOptions): Promise<StoredCertificate> {
  const { view, key, addresses, signal, present } = options
  const csr = await createCsr({
    key: key.privateKey,
    commonName: view.name,
    dnsNames: [view.name],
    ipAddresses: [...addresses],
  })
  // A node that shares its host with others says which one it is. Elsewhere the route decides: the first address need not lead to the control plane.
  const source = addresses.find((address) => address.startsWith('127.'))
  await using client = connect(
    { trust: TrustServiceService },
    {
      endpoint,
      tls: { authorities: view.authorities },
      ...(source === undefined ? {} : { localAddress: source }),
    },
  )
  const call = { signal, deadlineMs: CALL_DEADLINE_MS }
  if (present === undefined) {
    const username = view.joinCredential?.username ?? ''
    const password = view.joinCredential?.password.reveal() ?? ''
    return checked(await client.trust.sign({ username, password, csr }, call), options)
  }
  const parsed = parseCsr(csr)
  if (!parsed.ok) throw parsed.error
  const signature = signRenewal(key.privateKey, parsed.value.der)
  return checked(
    await client.trust.renew({ csr, certificate: present.certificatePem, signature }, call),
    options,
  )
}

function checked(
  answer: { readonly certificate: string; readonly authorities: string },
  options: ObtainOptions,
): StoredCertificate {
  const offered = splitCertificates(answer.authorities)
  const authorities = [...new Set([...options.view.authorities, ...(offered.ok ? offered.value : [])])]
  const verified = verifyNodeCertificate(answer.certificate, { authorities, now: options.clock.now() })
  if (!verified.ok)
    throw new CoreFault('identity_refused', 'the signed certificate does not verify', {
      cause: verified.error,
    })
  if (verified.value.spkiFingerprint !== spkiFingerprintOfKey(createPublicKey(options.key.privateKey))) {
    throw new CoreFault('identity_refused', 'the signed certificate is for another key')
  }
  return { certificatePem: answer.certificate, authorities }
}

/** Tells a refusal, which a person must end, from a control plane that is away. */
export function classify(error: unknown): CoreFault {
  if (error instanceof CoreFault) return error
  if (error instanceof RpcFault && TRANSIENT.includes(error.status) && !LASTING.test(error.code)) {
    return new CoreFault('identity_unreachable', 'no control plane answered', { cause: error })
  }
  const why = error instanceof RpcFault ? `${error.message} [${error.code}]` : 'the request failed'
  return new CoreFault('identity_refused', `the control plane refused to sign: ${why}`, {
    cause: error,
    ...(error instanceof RpcFault && error.hint !== undefined ? { hint: error.hint } : {}),
  })
}

function refused(message: string, hint: string): CoreFault {
  return new CoreFault('identity_refused', message, { hint })
}
