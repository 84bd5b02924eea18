/**
 * TrustService as strangers see it: sizes are checked, guessing is slowed, everything else is core's to decide.
 *
 * Invariants: a wrong username, a wrong password and a credential that is expired, used up, revoked or not there get the same answer; a password
 * never reaches a log; an error of the way to core is told in our own words.
 */
import type { trustServices, TrustServiceService } from '#api'
import type { Clock } from '#kit/clock'
import type { Log } from '#kit/log'
import {
  addressOwner,
  LimitedLog,
  REQUEST_ID_HEADER,
  RpcFault,
  type CallContext,
  type Client,
  type Handlers,
} from '#rpc'
import type { Admission, JoinThrottle } from './throttle.ts'

/** A call, and the IP address it came from. */
export type TrustContext = CallContext & { readonly address: string }

export type ForwardOptions = {
  readonly core: Client<typeof trustServices>
  readonly throttle: JoinThrottle
  readonly clock: Clock
  readonly log: Log
  readonly deadlineMs: number
}

/** A PKCS #10 request of one node is a tenth of this. */
const MAX_CSR = 8 * 1024
const MAX_CERTIFICATE = 16 * 1024
const MAX_SIGNATURE = 1024
const MAX_USERNAME = 128
const MAX_PASSWORD = 256

export function trustHandlers(options: ForwardOptions): Handlers<typeof TrustServiceService, TrustContext> {
  const refusals = new LimitedLog(options.log.child({ audit: true }), options.clock, {
    ratePerSecond: 10,
    burst: 50,
  })
  const { core } = options
  return {
    sign: (request, context) =>
      throttled({ options, refusals, context, username: request.username }, async () => {
        requireCsr(request.csr)
        // Told like a wrong one: that it cannot be right is nobody's business.
        if (request.username.length > MAX_USERNAME || Buffer.byteLength(request.password) > MAX_PASSWORD)
          throw joinRefused()
        return core.trust.sign(request, forwarded(options, context))
      }),
    renew: (request, context) =>
      throttled({ options, refusals, context, username: undefined }, async () => {
        requireCsr(request.csr)
        if (request.certificate.length > MAX_CERTIFICATE || request.signature.length > MAX_SIGNATURE)
          throw new RpcFault(
            'invalid_argument',
            'renewal_too_large',
            'the certificate or the signature is too large',
          )
        return core.trust.renew(request, forwarded(options, context))
      }),
  }
}

type Throttled = {
  readonly options: ForwardOptions
  readonly refusals: LimitedLog
  readonly context: TrustContext
  readonly username: string | undefined
}

async function throttled<T>(call: Throttled, act: () => Promise<T>): Promise<T> {
  const { options, refusals, context } = call
  const { throttle, clock } = options
  const owner = addressOwner(context.address)
  const said = {
    rpc: context.path,
    request: context.requestId,
    from: context.address,
    username: printable(call.username),
  }
  const admission = throttle.admit(owner, clock.monotonic())
  if (admission.kind === 'refused') {
    refusals.warn('call refused', {
      ...said,
      code: CODES[admission.reason][0],
      retryAfterMs: admission.retryAfterMs,
    })
    throw slowed(admission)
  }
  try {
    const answer = await act()
    throttle.succeeded(owner)
    return answer
  } catch (error) {
    const fault = toClient(error)
    const isGuess = fault.status === 'unauthenticated' || fault.status === 'permission_denied'
    const lockedMs = isGuess ? throttle.failed(owner, call.username ?? '', clock.monotonic()) : 0
    refusals.warn('call refused', { ...said, code: fault.code, ...(lockedMs === 0 ? {} : { lockedMs }) })
    throw fault
  } finally {
    admission.release()
  }
}

function forwarded(options: ForwardOptions, context: TrustContext) {
  return {
    signal: context.signal,
    deadlineMs: options.deadlineMs,
    waitForReady: true,
    metadata: { 'stele-peer-address': context.address, [REQUEST_ID_HEADER]: context.requestId },
  }
}

function requireCsr(csr: string): void {
  if (csr.length <= MAX_CSR) return
  throw new RpcFault(
    'invalid_argument',
    'csr_too_large',
    'the request for a certificate is larger than 8 KiB',
  )
}

const CODES: Readonly<Record<Extract<Admission, { kind: 'refused' }>['reason'], readonly [string, string]>> =
  {
    locked_out: ['join_locked_out', 'too many refused attempts from this address'],
    rate: ['rate_limited', 'too many calls from this address'],
    busy: ['node_busy', 'too many nodes join at this moment'],
  }

function slowed(refused: Extract<Admission, { kind: 'refused' }>): RpcFault {
  const [code, message] = CODES[refused.reason]
  return new RpcFault('resource_exhausted', code, message, {
    hint: `try again in ${refused.retryAfterMs} ms`,
  })
}

/** The one answer to a credential that does not let anybody in, with the words of core. */
function joinRefused(): RpcFault {
  return new RpcFault('unauthenticated', 'join_refused', 'the join credential was refused', {
    hint: 'ask an administrator for a join credential that is usable: stelectl token list',
  })
}

/** Codes of the way to core, which say nothing a node could use. */
const OWN_WORDS: readonly string[] = ['node_unreachable', 'message_too_large', 'unimplemented']

function toClient(error: unknown): RpcFault {
  const isCores = error instanceof RpcFault && !OWN_WORDS.includes(error.code)
  if (isCores) return error
  if (!(error instanceof RpcFault))
    return new RpcFault('internal', 'internal', 'the node failed to do this', { cause: error })
  return new RpcFault('unavailable', 'core_unavailable', 'the core of the node is not up', {
    hint: 'try again in a moment',
    cause: error,
  })
}

/** A username as it may stand in a log: bounded and printable, whatever was sent. */
function printable(text: string | undefined): string | undefined {
  return text?.slice(0, 64).replaceAll(/[^\x21-\x7e]/g, '?')
}
