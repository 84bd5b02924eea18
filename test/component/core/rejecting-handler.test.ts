import * as grpc from '@grpc/grpc-js'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../agent/kit/clock.ts'
import { createLog } from '../../../agent/kit/log.ts'
import { loadPeerCheck } from '../../../agent/core/peer.ts'
import { openDoor } from '../../../agent/core/server.ts'
import { implement } from '../../../agent/rpc/index.ts'

const text = {
  requestSerialize: (value: string) => Buffer.from(value),
  requestDeserialize: (bytes: Buffer) => bytes.toString(),
  responseSerialize: (value: string) => Buffer.from(value),
  responseDeserialize: (bytes: Buffer) => bytes.toString(),
}
const definition = {
  reject: {
    path: '/test.Service/Reject',
    requestStream: false as const,
    responseStream: false as const,
    ...text,
  },
  echo: {
    path: '/test.Service/Echo',
    requestStream: false as const,
    responseStream: false as const,
    ...text,
  },
  breakOff: {
    path: '/test.Service/BreakOff',
    requestStream: false as const,
    responseStream: true as const,
    ...text,
  },
}

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'stele-door-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

describe('a handler behind a door of core that rejects', () => {
  it('answers INTERNAL with an incident id and nothing else, tells the log why, and the next call works', async () => {
    let lines = ''
    const log = createLog('core', { write: (line: string) => void (lines += line) })
    const marker = 'MARKER /srv/secret/path'
    const service = implement(
      definition,
      {
        reject: async () => Promise.reject(new Error(marker)),
        echo: async (request: string) => request,
        breakOff: async function* () {
          yield 'first'
          throw new TypeError(marker)
        },
      },
      { chain: { guard: async () => ({}) }, log, clock: systemClock, defaultDeadlineMs: 5_000 },
    )
    const path = join(directory, 'door.sock')
    await using _door = await openDoor({
      path,
      uid: process.getuid?.() ?? 0,
      peer: loadPeerCheck(),
      services: [service],
      log,
    })
    const client = new grpc.Client(`unix:${path}`, grpc.credentials.createInsecure())
    const call = (method: { path: string }, request: string) =>
      new Promise<string | grpc.ServiceError>((resolve) => {
        client.makeUnaryRequest(
          method.path,
          text.requestSerialize,
          text.responseDeserialize,
          request,
          (error, value) => resolve(error ?? value ?? ''),
        )
      })
    const stream = client.makeServerStreamRequest(
      definition.breakOff.path,
      text.requestSerialize,
      text.responseDeserialize,
      '',
    )
    const broken = await new Promise<grpc.ServiceError>((resolve) => {
      stream.on('data', () => undefined)
      stream.on('error', (error: grpc.ServiceError) => resolve(error))
    })
    for (const error of [await call(definition.reject, 'x'), broken]) {
      if (typeof error === 'string') throw new Error('answered')
      expect(error.code).toBe(grpc.status.INTERNAL)
      const incident = String(error.metadata.get('stele-incident')[0])
      expect(incident).toMatch(/^[\w-]{6,}$/)
      expect(JSON.stringify([error.details, error.metadata.getMap()])).not.toContain('MARKER')
      expect(lines).toContain(incident)
    }
    expect(lines).toContain('MARKER')
    expect(await call(definition.echo, 'still here')).toBe('still here')
    client.close()
  })
})
