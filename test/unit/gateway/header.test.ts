import * as grpc from '@grpc/grpc-js'
import { describe, expect, it } from 'vitest'
import { forwardedMetadata, metadataBytes } from '../../../agent/gateway/header.ts'

const caller = { certificate: Buffer.from('der'), address: '192.0.2.1', requestId: 'id-1' }

describe('the headers that core sees', () => {
  it('BR-051 are those of the gateway, whatever the client sent under any spelling', () => {
    const sent = new grpc.Metadata()
    for (const name of [
      'role',
      'Stele-Role',
      'STELE-PEER-ADDRESS',
      'stele-request-id',
      'authorization',
      'x-forwarded-for',
    ])
      sent.add(name, 'forged')
    sent.add('stele-peer-certificate-bin', Buffer.from('forged'))
    sent.add('stele-peer-certificate-bin', Buffer.from('twice'))
    sent.add('user-agent', 'client/1')
    expect(forwardedMetadata(sent, caller).toHttp2Headers()).toEqual({
      'user-agent': 'client/1',
      'stele-peer-certificate-bin': Buffer.from('der').toString('base64'),
      'stele-peer-address': '192.0.2.1',
      'stele-request-id': 'id-1',
    })
  })

  it('are counted with their names', () => {
    const sent = new grpc.Metadata()
    expect(metadataBytes(sent)).toBe(0)
    sent.add('abc', 'x'.repeat(100))
    sent.add('abc', 'y')
    expect(metadataBytes(sent)).toBe(100 + 1 + 2 * (3 + 32))
  })
})
