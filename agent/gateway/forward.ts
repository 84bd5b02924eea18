/**
 * One call to core: bytes in, bytes out, never decoded here.
 *
 * Invariants: what core sends to a client that does not read is bounded by one buffer, then core is held back, then the client is cut off; when
 * either side leaves the other is told; no error of the way to core reaches a client as it is, since its text names our files.
 */
import * as grpc from '@grpc/grpc-js'
import type { Log } from '#kit/log'
import {
  RAW,
  RpcFault,
  statusName,
  toWireStatus,
  wireStatus,
  type MethodDefinition,
  type WireStatus,
} from '#rpc'
import { stopping } from './admission.ts'

/** What ends a call with UNAVAILABLE, for each call that is open: a stop of the gateway uses it. */
export type OpenCalls = Set<() => void>

export type ForwardOptions = {
  readonly core: grpc.Client
  readonly log: Log
  /** For unary calls without a deadline; milliseconds. */
  readonly defaultDeadlineMs: number
  /** Longer deadlines of unary calls are shortened to this. */
  readonly maxDeadlineMs: number
  /** A client that takes nothing for this long while something waits for it is cut off. */
  readonly stallMs: number
  readonly cut: (peer: string) => void
  readonly openStreams: OpenCalls
  readonly openUnary: OpenCalls
}

type Method = MethodDefinition<unknown, unknown>

/** Bytes that may wait in the gateway for one stream, over and above the windows of HTTP/2. */
const STREAM_BUFFER_BYTES = 256 * 1024

export function forwardUnary(method: Method, options: ForwardOptions): grpc.handleUnaryCall<Buffer, Buffer> {
  return (call, callback) => {
    let isOver = false
    const answer: grpc.sendUnaryData<Buffer> = (error, response) => {
      options.openUnary.delete(stop)
      if (!isOver) callback(error, response)
      isOver = true
    }
    const stop = () => {
      answer(wireStatus(stopping()))
      upstream.cancel()
    }
    const upstream = options.core.makeUnaryRequest<Buffer, Buffer>(
      method.path,
      RAW.requestSerialize,
      RAW.responseDeserialize,
      call.request,
      call.metadata,
      { deadline: unaryDeadline(call.getDeadline(), options) },
      (error, response) => {
        if (error === null) answer(null, response)
        else answer(translate(error, options.log))
      },
    )
    options.openUnary.add(stop)
    call.once('cancelled', () => upstream.cancel())
  }
}

export function forwardStream(
  method: Method,
  options: ForwardOptions,
): grpc.handleServerStreamingCall<Buffer, Buffer> {
  return (call) => {
    const upstream = options.core.makeServerStreamRequest<Buffer, Buffer>(
      method.path,
      RAW.requestSerialize,
      RAW.responseDeserialize,
      call.request,
      call.metadata,
      { deadline: call.getDeadline() },
    )
    pipe(upstream, call, { method, options })
  }
}

type Down = grpc.ServerWritableStream<Buffer, Buffer>
type Pipe = { readonly method: Method; readonly options: ForwardOptions }

function pipe(upstream: grpc.ClientReadableStream<Buffer>, call: Down, { method, options }: Pipe): void {
  let waiting = 0
  let stall: NodeJS.Timeout | undefined
  let isOver = false
  const watchStall = () => {
    clearTimeout(stall)
    if (waiting === 0 || isOver) return
    stall = setTimeout(() => {
      options.log.warn('client cut off', {
        audit: true,
        rpc: method.path,
        from: call.getPeer(),
        code: 'client_stalled',
      })
      upstream.cancel()
      options.cut(call.getPeer())
    }, options.stallMs)
  }
  const finish = (fault?: WireStatus) => {
    if (isOver) return
    isOver = true
    options.openStreams.delete(stop)
    upstream.cancel()
    if (fault === undefined) call.end()
    else call.emit('error', fault)
  }
  const stop = () => finish(wireStatus(stopping()))
  options.openStreams.add(stop)
  upstream.on('metadata', () => call.sendMetadata(new grpc.Metadata()))
  upstream.on('data', (bytes: Buffer) => {
    waiting += bytes.length
    if (stall === undefined || waiting === bytes.length) watchStall()
    if (waiting > STREAM_BUFFER_BYTES) upstream.pause()
    call.write(bytes, () => {
      waiting -= bytes.length
      watchStall()
      if (waiting <= STREAM_BUFFER_BYTES) upstream.resume()
    })
  })
  // grpc-js emits nothing else on a client stream.
  upstream.on('error', (error) => finish(translate(error as grpc.ServiceError, options.log)))
  upstream.on('end', () => finish())
  call.once('cancelled', () => {
    clearTimeout(stall)
    stall = undefined
    finish()
  })
}

/** When core's answer is to be here at the latest: the client's deadline, but neither unlimited nor longer than the cap. */
function unaryDeadline(given: Date | number, options: ForwardOptions): number {
  const now = Date.now()
  const until = given instanceof Date ? given.getTime() : given
  return Number.isFinite(until)
    ? Math.min(until, now + options.maxDeadlineMs)
    : now + options.defaultDeadlineMs
}

/** What the client is told of a failed call to core. What core itself said, with a code, passes; the rest is said in our own words. */
export function translate(error: grpc.ServiceError, log: Log): WireStatus {
  if (error.metadata.get('stele-code').length > 0)
    return { code: error.code, details: error.details, metadata: error.metadata }
  const status = statusName(error.code)
  switch (status) {
    case 'unavailable':
      return wireStatus(
        new RpcFault(status, 'core_unavailable', 'the core of the node is not up', {
          hint: 'try again in a moment',
        }),
      )
    case 'deadline_exceeded':
      return wireStatus(new RpcFault(status, status, 'the deadline of the call has passed'))
    case 'resource_exhausted':
      return wireStatus(
        new RpcFault(status, 'message_too_large', 'the answer is larger than 4 MiB', {
          hint: 'use a method that streams',
        }),
      )
    case 'unimplemented':
      return wireStatus(
        new RpcFault(status, 'unimplemented', 'the core of the node does not have this method'),
      )
    case 'cancelled':
      return wireStatus(new RpcFault(status, status, 'the call was cancelled'))
    default:
      return toWireStatus(error, log)
  }
}
