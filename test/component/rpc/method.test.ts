import * as grpc from '@grpc/grpc-js'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { LogServiceService, SystemServiceService } from '#api'
import { systemClock } from '#kit/clock'
import { createLog } from '#kit/log'
import { connect, implement, RpcFault, type CallContext, type CallOutcome, type Client } from '#rpc'
import { eventually } from '../../support/wait.ts'
import { faultOf, soon } from '../gateway/harness.ts'

type Who = { readonly who: string }
type Context = CallContext & Who

const directory = mkdtempSync(join(tmpdir(), 'stele-method-'))
const services = { system: SystemServiceService, log: LogServiceService }
const lines: string[] = []
const outcomes: CallOutcome<Who>[] = []
const seen = { started: 0, ended: 0, yielded: 0, aborted: '' }

let client: Client<typeof services>
let stop: () => void

const answer = { version: '', runtime: '', api: '', node: 'n', bootId: '', platform: '' }

/** Waits for the signal as no handler should: it never looks at it. */
const deaf = () => new Promise<never>(() => undefined)

async function* numbers() {
  try {
    for (;;) {
      seen.yielded += 1
      yield { lines: Buffer.alloc(64 * 1024), dropped: 0n }
    }
  } finally {
    seen.ended += 1
  }
}

async function* brokenAfterOne() {
  yield { lines: Buffer.from('one'), dropped: 9007199254740993n }
  await Promise.resolve()
  throw new Error('marker')
}

beforeAll(async () => {
  const guard = async (call: CallContext): Promise<Who> => {
    const [who] = call.metadata.get('who')
    if (who === 'nobody') throw new RpcFault('permission_denied', 'denied', 'no', { hint: 'ask' })
    if (who === 'odd') throw new Error('marker')
    return { who: String(who) }
  }
  const options = {
    chain: { guard, settled: (outcome: CallOutcome<Who>) => void outcomes.push(outcome) },
    log: createLog('test', { write: (line: string) => void lines.push(line) }),
    clock: systemClock,
    defaultDeadlineMs: 400,
  }
  const { version, reboot, getStatus, shutdown } = SystemServiceService
  const system = implement(
    { version, reboot, getStatus, shutdown },
    {
      version: async () => answer,
      reboot: deaf,
      getStatus: () => {
        throw new Error('marker, thrown at once')
      },
      shutdown: async (_request, context: Context) => {
        seen.started += 1
        await once(context.signal, 'abort')
        seen.aborted = (context.signal.reason as RpcFault).code
        throw context.signal.reason
      },
    },
    options,
  )
  const logs = implement(LogServiceService, { logs: numbers, kernelLog: brokenAfterOne }, options)
  const server = new grpc.Server({ 'grpc.enable_channelz': 0 })
  for (const one of [system, logs]) server.addService(one.definition, one.implementation)
  const injector = server.createConnectionInjector(grpc.ServerCredentials.createInsecure())
  const listener = createServer((socket) => injector.injectConnection(socket))
  const socket = join(directory, 'sock')
  listener.listen(socket)
  await once(listener, 'listening')
  client = connect(services, { endpoint: { socket } })
  stop = () => {
    client.close()
    listener.close()
    server.forceShutdown()
  }
})
afterAll(() => {
  stop()
  rmSync(directory, { recursive: true, force: true })
})
beforeEach(() => {
  lines.length = 0
  outcomes.length = 0
})

describe('a unary method', () => {
  it('answers, and its outcome is told once', async () => {
    expect(await client.system.version({}, { ...soon(), metadata: { who: 'ada' } })).toEqual(answer)
    await eventually(() => outcomes.length === 1)
    expect(outcomes[0]).toMatchObject({ status: 'ok', code: undefined, extra: { who: 'ada' } })
    expect(outcomes[0]?.call.path).toBe('/stele.agent.v1.SystemService/Version')
  })

  it('that throws at once answers INTERNAL, the log has the cause, the server lives', async () => {
    const fault = await faultOf(client.system.getStatus({}, soon()))
    expect([fault.status, fault.code]).toEqual(['internal', 'internal'])
    expect(fault.message).not.toContain('marker')
    expect(lines.join('')).toContain('marker')
    expect(lines.join('')).toContain(fault.incident)
    await client.system.version({}, soon())
  })

  it('that is refused by the guard is never decoded nor run', async () => {
    const fault = await faultOf(client.system.version({}, { ...soon(), metadata: { who: 'nobody' } }))
    expect([fault.status, fault.code, fault.hint]).toEqual(['permission_denied', 'denied', 'ask'])
    expect(outcomes[0]).toMatchObject({ status: 'permission_denied', code: 'denied', extra: undefined })
  })

  it('is INTERNAL when the guard itself fails: it never lets through', async () => {
    const fault = await faultOf(client.system.version({}, { ...soon(), metadata: { who: 'odd' } }))
    expect(fault.status).toBe('internal')
  })

  it('that is deaf to its signal ends at the deadline all the same', async () => {
    const fault = await faultOf(client.system.reboot({}, { ...soon(), deadlineMs: 100 }))
    expect(fault.status).toBe('deadline_exceeded')
    await eventually(() =>
      outcomes.some((one) => one.status === 'deadline_exceeded' || one.status === 'cancelled'),
    )
  })

  it('learns that its caller left', async () => {
    const left = new AbortController()
    const call = client.system.shutdown({}, { signal: left.signal })
    call.catch(() => undefined)
    await eventually(() => seen.started > 0)
    left.abort(new Error('gone'))
    await expect(call).rejects.toThrow('gone')
    await eventually(() => outcomes.some((one) => one.status === 'cancelled'))
    expect(seen.aborted).toBe('cancelled')
  })

  it('whose caller gave no deadline has the default one', async () => {
    const raw = new grpc.Client(`unix:${join(directory, 'sock')}`, grpc.credentials.createInsecure())
    const { path, requestSerialize, responseDeserialize } = SystemServiceService.shutdown
    const error = await new Promise<grpc.ServiceError | null>((resolve) => {
      const request = { force: false, dryRun: false, idempotencyKey: '' }
      raw.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, resolve)
    })
    expect(error?.code).toBe(grpc.status.DEADLINE_EXCEEDED)
    expect(error?.metadata.get('stele-code')).toEqual(['deadline_exceeded'])
    expect(seen.aborted).toBe('deadline_exceeded')
    raw.close()
  })

  it('answers INVALID_ARGUMENT to bytes that are no message', async () => {
    const raw = new grpc.Client(`unix:${join(directory, 'sock')}`, grpc.credentials.createInsecure())
    const pass = (bytes: Buffer) => bytes
    const error = await new Promise<grpc.ServiceError | null>((resolve) => {
      raw.makeUnaryRequest(SystemServiceService.reboot.path, pass, pass, Buffer.from([0x0a, 0xff]), resolve)
    })
    expect(error?.code).toBe(grpc.status.INVALID_ARGUMENT)
    expect(error?.metadata.get('stele-code')).toEqual(['message_malformed'])
    raw.close()
  })
})

describe('a stream', () => {
  it('BR-061 produces no more than fits while its client does not read, and ends with it', async () => {
    const { yielded, ended } = seen
    const stream = client.log.logs({}, soon())[Symbol.asyncIterator]()
    await stream.next()
    let last = -1
    await eventually(
      () => {
        const isStill = last === seen.yielded
        last = seen.yielded
        return isStill
      },
      { everyMs: 100 },
    )
    expect(seen.yielded - yielded).toBeLessThan(200)
    await stream.return?.()
    await eventually(() => seen.ended === ended + 1)
  })

  it('BR-063 that breaks gives what it had, with 64-bit numbers, and then INTERNAL', async () => {
    const got: bigint[] = []
    const read = async () => {
      for await (const message of client.log.kernelLog({}, soon())) got.push(message.dropped)
    }
    const fault = await faultOf(read())
    expect(got).toEqual([9007199254740993n])
    expect([fault.status, fault.incident !== undefined]).toEqual(['internal', true])
  })
})
