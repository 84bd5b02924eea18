/**
 * Typed promise clients.
 *
 * Invariants: every unary call has a deadline, every stream a deadline for its connection; a connection that never gets through is thrown away and
 * made anew, so that a server that was silent once is found again; nothing is dialled without something to verify the server with.
 */
import * as grpc from '@grpc/grpc-js'
import { systemClock } from '#kit/clock'
import { closed, Line, type ClientOptions } from './line.ts'
import { RAW, type MethodDefinition, type RequestOf, type ResponseOf } from './method.ts'
import { explain } from './refusal.ts'
import { RpcFault } from './status.ts'

export type CallOptions = {
  readonly signal: AbortSignal
  /** Milliseconds; default 10 s for unary calls, none for streams. */
  readonly deadlineMs?: number
  readonly metadata?: Readonly<Record<string, string | Buffer>>
  /** Waits for a server that is away, within the deadline, instead of failing at once. */
  readonly waitForReady?: boolean
}

type Call<M> = M extends { readonly responseStream: true }
  ? (request: Partial<RequestOf<M>>, options: CallOptions) => AsyncIterable<ResponseOf<M>>
  : (request: Partial<RequestOf<M>>, options: CallOptions) => Promise<ResponseOf<M>>

/** Methods by service and name. Every failure is an RpcFault. Fields that a request leaves out have their default. */
export type Client<S> = {
  readonly [Service in keyof S]: { readonly [M in keyof S[Service]]: Call<S[Service][M]> }
} & AsyncDisposable & { close(): void }

const UNARY_DEADLINE_MS = 10_000
/** From the call to an established HTTP/2 connection. */
const CONNECT_DEADLINE_MS = 10_000

/**
 * Returns a client; the connection is made at the first call. Throws RpcFault `authority_missing` or `credentials_invalid` when the TLS material
 * cannot verify a server.
 */
export function connect<S extends Readonly<Record<string, object>>>(
  services: S,
  options: ClientOptions,
): Client<S> {
  const line = new Line(options)
  const client: Record<PropertyKey, unknown> = {
    close: () => line.close(),
    [Symbol.asyncDispose]: () => Promise.resolve(line.close()),
  }
  for (const [service, methods] of Object.entries(services)) {
    const calls: Record<string, unknown> = {}
    for (const [name, method] of Object.entries(methods as Record<string, AnyMethod>)) {
      calls[name] = method.responseStream
        ? (request: object, call: CallOptions) => streamCall(line, method, request, call)
        : (request: object, call: CallOptions) => unaryCall(line, method, request, call)
    }
    client[service] = calls
  }
  // Built above from the very definitions that S describes, one call for each method.
  return client as Client<S>
}

type AnyMethod = MethodDefinition<object, unknown>

/** After this a connection is tried anew; longer than the first back-off of the channel. */
const SECOND_LOOK_MS = 300

/**
 * A server that stops closes connections just as one that refuses a certificate does. So when nothing is wrong with ours, and the call never left,
 * the server is asked once more before it is said to have refused us.
 */
async function unaryCall(
  line: Line,
  method: AnyMethod,
  request: object,
  options: CallOptions,
): Promise<unknown> {
  const timed = { ...options, deadline: Date.now() + (options.deadlineMs ?? UNARY_DEADLINE_MS) }
  try {
    return await attempt(line, method, request, timed)
  } catch (error) {
    const isDoubtful = error instanceof RpcFault && error.code === 'certificate_refused'
    if (!isDoubtful || timed.deadline - Date.now() < SECOND_LOOK_MS) throw error
    await systemClock.sleep(SECOND_LOOK_MS, options.signal)
    return attempt(line, method, request, timed)
  }
}

async function attempt(
  line: Line,
  method: AnyMethod,
  request: object,
  options: CallOptions & { readonly deadline: number },
): Promise<unknown> {
  options.signal.throwIfAborted()
  const client = line.client()
  const bytes = encode(method, request)
  try {
    const answer = await new Promise<Buffer | undefined>((resolve, reject) => {
      const call = client.makeUnaryRequest<Buffer, Buffer>(
        method.path,
        RAW.requestSerialize,
        RAW.responseDeserialize,
        bytes,
        metadataOf(options),
        { deadline: options.deadline },
        (error, response) => {
          options.signal.removeEventListener('abort', cancel)
          if (error === null) resolve(response)
          else reject(error)
        },
      )
      const cancel = () => call.cancel()
      options.signal.addEventListener('abort', cancel, { once: true })
    })
    return method.responseDeserialize(answer ?? Buffer.alloc(0))
  } catch (error) {
    throw failure(line, client, error, options)
  }
}

async function* streamCall(
  line: Line,
  method: AnyMethod,
  request: object,
  options: CallOptions,
): AsyncGenerator<unknown, void, undefined> {
  options.signal.throwIfAborted()
  const client = line.client()
  const bytes = encode(method, request)
  const deadline =
    options.deadlineMs === undefined ? Number.POSITIVE_INFINITY : Date.now() + options.deadlineMs
  const call = client.makeServerStreamRequest<Buffer, Buffer>(
    method.path,
    RAW.requestSerialize,
    RAW.responseDeserialize,
    bytes,
    metadataOf(options),
    { deadline },
  )
  const cancel = () => call.cancel()
  options.signal.addEventListener('abort', cancel, { once: true })
  let isLate = false
  const timer = setTimeout(() => {
    isLate = !line.isConnected()
    if (isLate) call.cancel()
  }, CONNECT_DEADLINE_MS)
  call.once('metadata', () => clearTimeout(timer))
  try {
    // Messages are the bytes that RAW passes on.
    for await (const message of call as AsyncIterable<Buffer>) yield method.responseDeserialize(message)
  } catch (error) {
    if (isLate) line.renew(client)
    throw isLate && !options.signal.aborted
      ? unreachable('unavailable', error)
      : failure(line, client, error, options)
  } finally {
    clearTimeout(timer)
    options.signal.removeEventListener('abort', cancel)
    call.cancel()
  }
}

/** The fault of a failed call. The reason of the caller's signal wins over what the transport made of it. */
function failure(line: Line, client: grpc.Client, error: unknown, options: CallOptions): Error {
  if (options.signal.aborted && options.signal.reason instanceof Error) return options.signal.reason
  if (line.isClosed) return closed()
  const fault = explain(error, { tls: line.tls, attempts: line.attempts, now: new Date() })
  if (fault.status !== 'deadline_exceeded' || line.isConnected()) return fault
  line.renew(client)
  return unreachable('deadline_exceeded', error)
}

function unreachable(status: 'unavailable' | 'deadline_exceeded', cause: unknown): RpcFault {
  return new RpcFault(status, 'node_unreachable', 'the node did not accept a connection in time', {
    hint: 'check the address and that the node is up',
    cause,
  })
}

/** Fills what the request leaves out with the defaults of its message: those of an empty encoding (proto3). */
function encode(method: AnyMethod, request: object): Buffer {
  return method.requestSerialize({ ...method.requestDeserialize(Buffer.alloc(0)), ...request })
}

function metadataOf(options: CallOptions): grpc.Metadata {
  const metadata = new grpc.Metadata({ waitForReady: options.waitForReady ?? false })
  for (const [name, value] of Object.entries(options.metadata ?? {})) metadata.set(name, value)
  return metadata
}
