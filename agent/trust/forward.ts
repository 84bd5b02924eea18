/**
 * TrustService as strangers see it: sizes are checked, guessing is slowed, calls take turns, everything else is core's to decide.
 *
 * Invariants: a wrong username, a wrong password and a credential that is expired, used up, revoked or not there get the same answer; a password
 * never reaches a log; an error of the way to core is told in our own words; a call that core was asked keeps its place until core has answered, and
 * counts, even when its client has left: core checks the password all the same.
 */
import type { trustServices, TrustServiceService } from '#api'
import type { Clock } from '#kit/clock'
import { withDeadline } from '#kit/lifetime'
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
import type { JoinThrottle, Refusal } from './throttle.ts'
import { TurnQueue, type Turn, type TurnPolicy } from './turn-queue.ts'

/** A call, and the IP address it came from. */
export type TrustContext = CallContext & { readonly address: string }

export type ForwardOptions = {
  readonly core: Client<typeof trustServices>
  readonly throttle: JoinThrottle
  readonly turns: TurnPolicy
  /** The longest that a call waits for its turn. */
  readonly waitMs: number
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
  const { core, throttle, clock } = options
  const turns = new TurnQueue(options.turns, (address) => throttle.hasFailed(address, clock.monotonic()))
  const callOf = (context: TrustContext, username: string | undefined): Call => {
    return { options, turns, refusals, context, username, owner: addressOwner(context.address) }
  }
  return {
    sign: (request, context) =>
      throttled(callOf(context, request.username), {
        check: () => {
          requireCsr(request.csr)
          // Told like a wrong one: that it cannot be right is nobody's business.
          if (request.username.length > MAX_USERNAME || Buffer.byteLength(request.password) > MAX_PASSWORD)
            throw joinRefused()
        },
        ask: () => core.trust.sign(request, forwarded(options, context)),
      }),
    renew: (request, context) =>
      throttled(callOf(context, undefined), {
        check: () => {
          requireCsr(request.csr)
          if (request.certificate.length > MAX_CERTIFICATE || request.signature.length > MAX_SIGNATURE)
            throw new RpcFault(
              'invalid_argument',
              'renewal_too_large',
              'the certificate or the signature is too large',
            )
        },
        ask: () => core.trust.renew(request, forwarded(options, context)),
      }),
  }
}

type Call = {
  readonly options: ForwardOptions
  readonly turns: TurnQueue
  readonly refusals: LimitedLog
  readonly context: TrustContext
  readonly username: string | undefined
  /** Whom the call counts for. */
  readonly owner: string
}

type Work<T> = {
  /** Throws what needs no answer of core. */
  check(): void
  ask(): Promise<T>
}

async function throttled<T>(call: Call, work: Work<T>): Promise<T> {
  const { options, context, owner } = call
  const { throttle, clock } = options
  refuseIf(call, throttle.admit(owner, clock.monotonic()))
  try {
    work.check()
  } catch (error) {
    throw failed(call, error)
  }
  const turn = call.turns.enter(owner)
  if (!(await isGranted(turn, call))) {
    context.signal.throwIfAborted()
    refuseIf(call, throttle.turnedAway(owner, clock.monotonic()))
  }
  return untilAborted(askedInTurn(call, work, turn), context.signal)
}

async function isGranted(turn: Turn, { options, context }: Call): Promise<boolean> {
  const late = () => new RpcFault('deadline_exceeded', 'deadline_exceeded', 'no turn in time')
  const wait = withDeadline(context.signal, options.waitMs, late)
  if (wait.aborted) turn.giveUp()
  wait.addEventListener('abort', () => turn.giveUp(), { once: true })
  try {
    return await turn.granted
  } finally {
    wait.dispose()
  }
}

/** Its failure is counted before the turn ends, so that the next turn is decided knowing of it. */
async function askedInTurn<T>(call: Call, work: Work<T>, turn: Turn): Promise<T> {
  const { throttle, clock } = call.options
  try {
    // Other calls of the address may have failed while this one waited.
    refuseIf(call, throttle.lockOf(call.owner, clock.monotonic()))
    const answer = await asked(call, work)
    throttle.succeeded(call.owner)
    return answer
  } finally {
    turn.end()
  }
}

async function asked<T>(call: Call, work: Work<T>): Promise<T> {
  try {
    return await work.ask()
  } catch (error) {
    throw failed(call, error)
  }
}

/** What the client is told of `error`, once it is counted and logged. */
function failed(call: Call, error: unknown): RpcFault {
  const { throttle, clock } = call.options
  const fault = toClient(error)
  const isGuess = fault.status === 'unauthenticated' || fault.status === 'permission_denied'
  const lockedMs = isGuess ? throttle.failed(call.owner, call.username ?? '', clock.monotonic()) : 0
  say(call, { code: fault.code, ...(lockedMs === 0 ? {} : { lockedMs }) })
  return fault
}

function refuseIf(call: Call, refusal: Refusal | undefined): void {
  if (refusal === undefined) return
  say(call, { code: CODES[refusal.reason][0], retryAfterMs: refusal.retryAfterMs })
  throw slowed(refusal)
}

function say({ refusals, context, username }: Call, why: Readonly<Record<string, unknown>>): void {
  const { path: rpc, requestId: request, address: from } = context
  refusals.warn('call refused', { rpc, request, from, username: printable(username), ...why })
}

async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop = (): void => undefined
  const aborted = new Promise<never>((_resolve, reject) => {
    // The reason of the signal of a call is an RpcFault.
    stop = () => reject(signal.reason as RpcFault)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

function forwarded(options: ForwardOptions, context: TrustContext) {
  return {
    // Not that of the client: see above.
    signal: new AbortController().signal,
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

const CODES: Readonly<Record<Refusal['reason'], readonly [string, string]>> = {
  locked_out: ['join_locked_out', 'too many refused attempts from this address'],
  rate: ['rate_limited', 'too many calls from this address'],
  busy: ['node_busy', 'too many nodes join at this moment'],
}

function slowed(refused: Refusal): RpcFault {
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
