/**
 * What every call passes before a byte of its body is read: who calls, how much, with which headers.
 *
 * Invariants: a refused call never reaches core and leaves one audit line; an admitted one gives its place back when its stream closes, however it
 * ends; core sees no header that the client wrote except those of the allow-list.
 */
import { randomUUID } from 'node:crypto'
import * as grpc from '@grpc/grpc-js'
import type { VerifiedClient } from '#pki'
import type { Clock } from '#kit/clock'
import type { Log } from '#kit/log'
import { LimitedLog, plainAddress, RpcFault, toWireStatus } from '#rpc'
import type { CallerBook } from './caller.ts'
import { forwardedMetadata, isReserved, MAX_METADATA_BYTES, metadataBytes } from './header.ts'
import type { Admission, CallKind, CallLimiter } from './limit.ts'

export type AdmissionOptions = {
  readonly callers: CallerBook
  readonly limiter: CallLimiter
  readonly clock: Clock
  readonly log: Log
  readonly isStopping: () => boolean
  /** A client that has not taken its answer after this long is cut off. */
  readonly stallMs: number
  readonly cut: (peer: string) => void
}

type Facts = { client?: VerifiedClient; requestId: string; from: string }

export function admission(options: AdmissionOptions): grpc.ServerInterceptor {
  const refusals = new LimitedLog(options.log.child({ audit: true }), options.clock, {
    ratePerSecond: 20,
    burst: 100,
  })
  return (method, call) => {
    const kind: CallKind = method.responseStream ? 'stream' : 'unary'
    let release = (): void => undefined
    let stalled: NodeJS.Timeout | undefined
    const receive = (metadata: grpc.Metadata): grpc.Metadata | undefined => {
      const facts: Facts = { requestId: randomUUID(), from: addressOfPeer(call.getPeer()) }
      try {
        const admitted = admit(options, { call, kind, metadata, facts })
        release = admitted.release
        return forwardedMetadata(metadata, {
          certificate: admitted.certificate,
          address: facts.from,
          requestId: facts.requestId,
        })
      } catch (error) {
        const status = toWireStatus(error, options.log)
        refusals.warn('call refused', audit(method.path, facts, error, metadata))
        call.sendStatus(status)
        return undefined
      }
    }
    return new grpc.ServerInterceptingCall(call, {
      start: (next) => {
        next({
          onReceiveMetadata: (metadata, pass) => {
            const forwarded = receive(metadata)
            if (forwarded !== undefined) pass(forwarded)
          },
          onCancel: () => {
            clearTimeout(stalled)
            release()
          },
        })
      },
      sendStatus: (status, next) => {
        // The answer is written; when the client takes it, the stream closes and onCancel ends this.
        stalled = setTimeout(() => {
          refusals.warn('client cut off', {
            rpc: method.path,
            from: addressOfPeer(call.getPeer()),
            code: 'client_stalled',
          })
          options.cut(call.getPeer())
        }, options.stallMs)
        stalled.unref()
        next(status)
      },
    })
  }
}

type Arrival = {
  readonly call: grpc.ServerInterceptingCallInterface
  readonly kind: CallKind
  readonly metadata: grpc.Metadata
  readonly facts: Facts
}

/** Throws RpcFault to refuse. */
function admit(options: AdmissionOptions, arrival: Arrival): { certificate: Buffer; release: () => void } {
  const { call, kind, metadata, facts } = arrival
  const certificate = call.getAuthContext().sslPeerCertificate?.raw
  const client = options.callers.identify(certificate)
  facts.client = client
  if (options.isStopping()) throw stopping()
  if (metadataBytes(metadata) > MAX_METADATA_BYTES) {
    throw new RpcFault(
      'resource_exhausted',
      'metadata_too_large',
      'the headers of the call are larger than 16 KiB',
    )
  }
  const admitted = options.limiter.admit(client.fingerprint, kind, options.clock.monotonic())
  if (admitted.kind === 'refused') throw tooMuch(admitted)
  // identify has refused a call without a certificate.
  return { certificate: certificate as Buffer, release: () => admitted.release() }
}

/** What a call is answered with once the gateway is to stop. */
export function stopping(): RpcFault {
  return new RpcFault('unavailable', 'gateway_stopping', 'the gateway of the node is stopping', {
    hint: 'try again in a moment',
  })
}

const REASONS: Readonly<
  Record<Extract<Admission, { kind: 'refused' }>['reason'], readonly [string, string]>
> = {
  rate: ['rate_limited', 'this certificate makes too many calls'],
  unary: ['too_many_calls', 'this certificate has too many calls open'],
  streams: ['too_many_streams', 'this certificate has too many streams open'],
  total: ['node_busy', 'the node has too many calls open'],
}

function tooMuch(refused: Extract<Admission, { kind: 'refused' }>): RpcFault {
  const [code, message] = REASONS[refused.reason]
  const hint =
    refused.reason === 'streams'
      ? 'end a stream first'
      : `try again in ${Math.max(1, refused.retryAfterMs)} ms`
  return new RpcFault('resource_exhausted', code, message, { hint })
}

function audit(
  path: string,
  facts: Facts,
  error: unknown,
  metadata: grpc.Metadata,
): Readonly<Record<string, unknown>> {
  const { client } = facts
  const forged = Object.keys(metadata.getMap()).filter(isReserved).slice(0, 8)
  return {
    rpc: path,
    request: facts.requestId,
    from: facts.from,
    who: client?.commonName,
    roles: client?.roles,
    serial: client?.serial,
    outcome: 'refused',
    code: error instanceof RpcFault ? error.code : 'internal',
    ...(forged.length === 0 ? {} : { forgedHeaders: forged }),
  }
}

/** The address in what grpc-js calls a peer: `address:port`, without brackets. */
function addressOfPeer(peer: string): string {
  const colon = peer.lastIndexOf(':')
  return colon < 0 ? peer : plainAddress(peer.slice(0, colon))
}
