/**
 * Server side: promise handlers in, what grpc-js wants out.
 *
 * Invariants: a handler that throws or rejects answers its own call and harms no other (grpc-js alone would let it end the process); every error
 * passes `toWireStatus`; a stream holds at most `STREAM_BUFFER_BYTES` for a client that does not read, and its iterator ends with its client.
 */
import { randomUUID } from 'node:crypto'
import type * as grpc from '@grpc/grpc-js'
import type { Clock } from '#kit/clock'
import { withDeadline } from '#kit/lifetime'
import type { Log } from '#kit/log'
import { RpcFault, statusName, toWireStatus, type RpcCode } from './status.ts'
import { sendPaced } from './paced-stream.ts'

export const REQUEST_ID_HEADER = 'stele-request-id'

export type CallContext = {
  /** As on the wire: `/package.Service/Method`. */
  readonly path: string
  /** Aborts when the client leaves or the deadline passes; its reason is an RpcFault. */
  readonly signal: AbortSignal
  readonly metadata: grpc.Metadata
  readonly log: Log
  readonly requestId: string
}

/** How ts-proto describes a method; only what is used here. */
export type MethodDefinition<Req, Res> = {
  readonly path: string
  readonly requestStream: boolean
  readonly responseStream: boolean
  readonly requestSerialize: (value: Req) => Buffer
  readonly requestDeserialize: (value: Buffer) => Req
  readonly responseSerialize: (value: Res) => Buffer
  readonly responseDeserialize: (value: Buffer) => Res
}

export type RequestOf<M> = M extends { readonly requestDeserialize: (value: Buffer) => infer R } ? R : never
export type ResponseOf<M> = M extends { readonly responseDeserialize: (value: Buffer) => infer R } ? R : never

/** One handler a method: a promise for one answer, an async iterable for a stream of them. */
export type Handlers<S, C = CallContext> = {
  readonly [K in keyof S]: S[K] extends { readonly responseStream: true }
    ? (request: RequestOf<S[K]>, context: C) => AsyncIterable<ResponseOf<S[K]>>
    : (request: RequestOf<S[K]>, context: C) => Promise<ResponseOf<S[K]>>
}

/** Decides whether a call may go on, and returns what its handler learns of the caller. Throws RpcFault to refuse. */
export type Guard<Extra> = (call: CallContext) => Promise<Extra>

export type CallOutcome<Extra> = {
  readonly call: CallContext
  /** Undefined when the guard refused. */
  readonly extra: Extra | undefined
  readonly status: RpcCode | 'ok'
  /** The stable code of a failure. */
  readonly code: string | undefined
  readonly ms: number
}

/** What every call passes, around its handler. */
export type CallChain<Extra> = {
  readonly guard: Guard<Extra>
  /** Called once a call, when its outcome is known: what is written to the audit log. */
  readonly settled?: (outcome: CallOutcome<Extra>) => void
}

export type ImplementOptions<Extra> = {
  readonly chain: CallChain<Extra>
  readonly log: Log
  readonly clock: Clock
  /** For unary calls that carry no deadline of their own; milliseconds. */
  readonly defaultDeadlineMs: number
}

/** Ready for `server.addService(definition, implementation)`. */
export type Implemented = {
  readonly definition: grpc.ServiceDefinition
  readonly implementation: grpc.UntypedServiceImplementation
}

/** Returns the service in the form of grpc-js. Request bodies are decoded after the guard has agreed, never before. */
export function implement<S extends object, Extra>(
  definition: S,
  handlers: Handlers<S, CallContext & Extra>,
  options: ImplementOptions<Extra>,
): Implemented {
  const raw: Record<string, grpc.MethodDefinition<Buffer, Buffer>> = {}
  const implementation: grpc.UntypedServiceImplementation = {}
  for (const [name, method] of Object.entries(
    definition as Record<string, MethodDefinition<unknown, unknown>>,
  )) {
    // Both are typed by S; a loop over its keys cannot carry that, so the pair is matched by name here once.
    const handler = handlers[name as keyof S] as Handler<Extra>
    raw[name] = { ...method, ...RAW, originalName: name }
    implementation[name] = method.responseStream
      ? streamMethod(method, handler, options)
      : unaryMethod(method, handler, options)
  }
  return { definition: raw, implementation }
}

type Handler<Extra> = (request: unknown, context: CallContext & Extra) => unknown
type Method = MethodDefinition<unknown, unknown>
type AnyCall = grpc.ServerUnaryCall<Buffer, Buffer> | grpc.ServerWritableStream<Buffer, Buffer>

/** Serializers that pass bytes. */
export const RAW = {
  requestSerialize: (bytes: Buffer) => bytes,
  requestDeserialize: (bytes: Buffer) => bytes,
  responseSerialize: (bytes: Buffer) => bytes,
  responseDeserialize: (bytes: Buffer) => bytes,
} as const

function unaryMethod<Extra>(
  method: Method,
  handler: Handler<Extra>,
  options: ImplementOptions<Extra>,
): grpc.handleUnaryCall<Buffer, Buffer> {
  return (call, callback) => {
    const answer = (request: unknown, context: CallContext & Extra): Promise<void> =>
      Promise.resolve(handler(request, context)).then((response) => {
        const bytes = method.responseSerialize(response)
        callback(null, bytes)
      })
    void run(method, call, { options, answer, fail: (status) => callback(status), limited: true })
  }
}

function streamMethod<Extra>(
  method: Method,
  handler: Handler<Extra>,
  options: ImplementOptions<Extra>,
): grpc.handleServerStreamingCall<Buffer, Buffer> {
  return (call) => {
    const answer = async (request: unknown, context: CallContext & Extra): Promise<void> => {
      // Handlers<S> promises an async iterable for every method with a response stream.
      const messages = handler(request, context) as AsyncIterable<unknown>
      await sendPaced(messages, { call, signal: context.signal, serialize: method.responseSerialize })
      call.end()
    }
    void run(method, call, { options, answer, fail: (status) => call.emit('error', status), limited: false })
  }
}

type Run<Extra> = {
  readonly options: ImplementOptions<Extra>
  readonly answer: (request: unknown, context: CallContext & Extra) => Promise<void>
  readonly fail: (status: ReturnType<typeof toWireStatus>) => void
  /** Whether the default deadline applies. */
  readonly limited: boolean
}

/** Never rejects. */
async function run<Extra>(method: Method, call: AnyCall, to: Run<Extra>): Promise<void> {
  const { options } = to
  const began = options.clock.monotonic()
  const requestId = requestIdOf(call.metadata)
  const log = options.log.child({ rpc: method.path, request: requestId })
  const signal = signalOf(call, to.limited ? options.defaultDeadlineMs : undefined)
  const context: CallContext = { path: method.path, signal, metadata: call.metadata, log, requestId }
  let extra: Extra | undefined
  const settle = (status: RpcCode | 'ok', code?: string) => {
    signal.dispose()
    report(options, { call: context, extra, status, code, ms: options.clock.monotonic() - began }, log)
  }
  try {
    extra = await options.chain.guard(context)
    const request = decode(method, call.request)
    await untilAborted(to.answer(request, { ...context, ...extra }), signal)
    settle('ok')
  } catch (error) {
    const wire = toWireStatus(error, log)
    to.fail(wire)
    const [code] = wire.metadata.get('stele-code')
    settle(statusName(wire.code), typeof code === 'string' ? code : undefined)
  }
}

function report<Extra>(options: ImplementOptions<Extra>, outcome: CallOutcome<Extra>, log: Log): void {
  try {
    options.chain.settled?.(outcome)
  } catch (error) {
    log.error('the outcome of a call could not be recorded', { error })
  }
}

function decode(method: Method, bytes: Buffer): unknown {
  try {
    return method.requestDeserialize(bytes)
  } catch (cause) {
    throw new RpcFault('invalid_argument', 'message_malformed', 'the request cannot be decoded', {
      hint: 'use a client of the same version as the node',
      cause,
    })
  }
}

function requestIdOf(metadata: grpc.Metadata): string {
  const [given] = metadata.get(REQUEST_ID_HEADER)
  return typeof given === 'string' && /^[\w-]{1,64}$/.test(given) ? given : randomUUID()
}

/** Aborts when the client leaves, or when the deadline of the call (or the default one) passes. */
function signalOf(call: AnyCall, defaultDeadlineMs: number | undefined): ReturnType<typeof withDeadline> {
  const left = new AbortController()
  const leave = () => left.abort(new RpcFault('cancelled', 'cancelled', 'the caller has left'))
  if (call.cancelled) leave()
  else call.once('cancelled', leave)
  const given = call.getDeadline()
  const until = given instanceof Date ? given.getTime() : given
  const ms = Number.isFinite(until) ? until - Date.now() : (defaultDeadlineMs ?? LONGEST_TIMER_MS)
  return withDeadline(
    left.signal,
    Math.min(Math.max(ms, 0), LONGEST_TIMER_MS),
    () => new RpcFault('deadline_exceeded', 'deadline_exceeded', 'the deadline of the call has passed'),
  )
}

/** The longest delay of a timer of Node; about 24 days. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** Settles with the promise or rejects with the signal's reason, so that a handler deaf to its signal holds nobody up. */
async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop = (): void => undefined
  const aborted = new Promise<never>((_resolve, reject) => {
    // The reason of this signal is an RpcFault: see signalOf.
    stop = () => reject(signal.reason as RpcFault)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
