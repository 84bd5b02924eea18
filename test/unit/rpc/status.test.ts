import * as grpc from '@grpc/grpc-js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLog } from '#kit/log'
import { fromServiceError, RpcFault, statusName, toWireStatus, wireStatus, type RpcCode } from '#rpc'

const lines: string[] = []
const log = createLog('test', { write: (line: string) => void lines.push(line) })

const STATUSES: readonly RpcCode[] = [
  'unauthenticated',
  'permission_denied',
  'not_found',
  'invalid_argument',
  'failed_precondition',
  'aborted',
  'already_exists',
  'resource_exhausted',
  'deadline_exceeded',
  'unavailable',
  'unimplemented',
  'internal',
  'cancelled',
  'out_of_range',
  'data_loss',
]

function serviceError(code: number, details: string, metadata = new grpc.Metadata()): Error {
  return Object.assign(new Error(details), { code, details, metadata })
}

describe('an error on the wire', () => {
  it('comes back with status, code, message, hint and incident', () => {
    const text = fc
      .string({ unit: fc.constantFrom(...'abc xyz_09.:'), minLength: 1 })
      .map((one) => `a${one}z`)
    fc.assert(
      fc.property(fc.constantFrom(...STATUSES), text, text, text, (status, code, message, hint) => {
        const wire = wireStatus(new RpcFault(status, code, message, { hint, incident: 'id-1' }))
        const back = fromServiceError(serviceError(wire.code, wire.details, wire.metadata))
        expect([back.status, back.code, back.message, back.hint, back.incident]).toEqual([
          status,
          code,
          message,
          hint,
          'id-1',
        ])
      }),
    )
  })

  it('is INTERNAL with an incident, and nothing of the text, for anything that is not a fault', () => {
    for (const thrown of [new Error('marker /etc/x'), 'marker', undefined, { marker: 1 }]) {
      lines.length = 0
      const wire = toWireStatus(thrown, log)
      expect(wire.code).toBe(grpc.status.INTERNAL)
      expect(JSON.stringify([wire.details, wire.metadata.getMap()])).not.toContain('marker')
      const [incident] = wire.metadata.get('stele-incident')
      expect(lines.join('')).toContain(String(incident))
    }
  })

  it('is what it was for aborts and deadlines', () => {
    expect(toWireStatus(AbortSignal.abort().reason, log).code).toBe(grpc.status.CANCELLED)
    expect(toWireStatus(new DOMException('late', 'TimeoutError'), log).code).toBe(
      grpc.status.DEADLINE_EXCEEDED,
    )
  })

  it('never has a header value that HTTP/2 would refuse', () => {
    const wire = wireStatus(new RpcFault('aborted', 'x', 'y', { hint: 'Grüße\r\nx-evil: 1' }))
    expect(wire.metadata.get('stele-hint')).toEqual(['Gr??e??x-evil: 1'])
  })
})

describe('an error of grpc-js', () => {
  it.each([
    ['tlsv13 alert certificate required', 'certificate_required'],
    ['sslv3 alert certificate expired:SSL alert number 45', 'certificate_expired'],
    ['tlsv1 alert unknown ca', 'certificate_untrusted'],
    ['tlsv1 alert protocol version', 'tls_version'],
    ['sslv3 alert bad certificate', 'certificate_refused'],
    ['sslv3 alert unsupported certificate', 'certificate_refused'],
  ])('BR-055 that says "%s" is not an unreachable node', (details, code) => {
    const fault = fromServiceError(serviceError(14, `No connection established. Last error: ${details}`))
    expect([fault.status, fault.code]).toEqual(['unauthenticated', code])
    expect(fault.hint).toBeDefined()
  })

  it('that a port is closed is an unreachable node', () => {
    const fault = fromServiceError(serviceError(14, 'connect ECONNREFUSED 127.0.0.1:1'))
    expect([fault.status, fault.code]).toEqual(['unavailable', 'node_unreachable'])
    expect(fault.message).not.toContain('127.0.0.1')
  })

  it('BR-057 about the size of a message has a code', () => {
    expect(fromServiceError(serviceError(8, 'Received message larger than max (9 vs 4)')).code).toBe(
      'message_too_large',
    )
  })

  it('without a status is internal', () => {
    expect(fromServiceError(new Error('x')).status).toBe('internal')
    expect(fromServiceError('x').status).toBe('internal')
    expect(statusName(0)).toBe('internal')
    expect(statusName(99)).toBe('internal')
  })

  it('that is a fault already stays what it is', () => {
    const fault = new RpcFault('aborted', 'x', 'y')
    expect(fromServiceError(fault)).toBe(fault)
  })
})
