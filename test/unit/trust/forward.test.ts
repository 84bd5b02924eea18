import { Metadata } from '@grpc/grpc-js'
import { describe, expect, it } from 'vitest'
import { systemClock } from '#kit/clock'
import { createLog } from '#kit/log'
import { RpcFault } from '#rpc'
import { trustHandlers, type ForwardOptions } from '../../../agent/trust/forward.ts'
import { JoinThrottle } from '../../../agent/trust/throttle.ts'
import { DEFAULT_TURNS } from '../../../agent/trust/turn-queue.ts'

const log = createLog('test', { write: () => undefined })

/** Handlers over a core that answers each call when `answer` is called, in the order of asking. */
function setUp(waitMs: number) {
  const pending: ((error?: RpcFault) => void)[] = []
  const sign = (): Promise<unknown> =>
    new Promise((resolve, reject) => {
      pending.push((error) => (error === undefined ? resolve({ certificate: 'signed' }) : reject(error)))
    })
  const throttle = new JoinThrottle()
  const handlers = trustHandlers({
    // A port: of core only `sign` is asked here.
    core: { trust: { sign } } as unknown as ForwardOptions['core'],
    throttle,
    turns: DEFAULT_TURNS,
    waitMs,
    clock: systemClock,
    log,
    deadlineMs: 10_000,
  })
  const join = (address: string, signal = new AbortController().signal) =>
    handlers.sign(
      { username: 'worker', password: 'p', csr: 'csr' },
      { path: '/x/Sign', signal, metadata: new Metadata(), log, requestId: 'r', address },
    )
  return { join, pending, throttle, asked: () => pending.length }
}

async function faultOf(call: Promise<unknown>): Promise<RpcFault> {
  const fault: unknown = await call.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!(fault instanceof RpcFault)) throw new Error('no RpcFault came')
  return fault
}

const refused = new RpcFault('unauthenticated', 'join_refused', 'the join credential was refused')

describe('a call for which core has no place', () => {
  it('waits, and is told to come again when its turn does not come in time', async () => {
    const { join, pending, asked } = setUp(0)
    const open = ['a', 'a', 'b', 'b'].map((address) => join(address))
    const fault = await faultOf(join('c'))
    expect([fault.status, fault.code, fault.hint]).toEqual([
      'resource_exhausted',
      'node_busy',
      'try again in 1000 ms',
    ])
    expect(asked()).toBe(DEFAULT_TURNS.places)
    for (const answer of pending) answer()
    expect(await Promise.all(open)).toHaveLength(4)
  })

  it('has its turn as soon as another ends', async () => {
    const { join, pending, asked } = setUp(60_000)
    const open = ['a', 'a', 'b', 'b', 'c'].map((address) => join(address))
    await expect.poll(asked).toBe(4)
    pending[0]?.()
    await expect.poll(asked).toBe(5)
    for (const answer of pending) answer()
    await Promise.all(open)
  })

  it('is locked out when the other calls of its address failed while it waited', async () => {
    const { join, pending, throttle, asked } = setUp(60_000)
    const open = ['a', 'a', 'a'].map((address) => faultOf(join(address)))
    await expect.poll(asked).toBe(2)
    for (let failure = 0; failure < 4; failure += 1) throttle.failed('a', 'other', systemClock.monotonic())
    for (const answer of [...pending]) answer(refused)
    const codes = (await Promise.all(open)).map((fault) => fault.code)
    expect(codes).toEqual(['join_refused', 'join_refused', 'join_locked_out'])
    expect(asked()).toBe(2)
  })
})

describe('a client that leaves', () => {
  it('keeps its place until core has answered, and its failure counts', async () => {
    const { join, pending, throttle, asked } = setUp(60_000)
    const leave = new AbortController()
    const left = ['a', 'a', 'b', 'b'].map((address) => faultOf(join(address, leave.signal)))
    await expect.poll(asked).toBe(4)
    leave.abort(new RpcFault('cancelled', 'cancelled', 'the call was cancelled'))
    expect((await Promise.all(left)).map((fault) => fault.code)).toEqual(Array(4).fill('cancelled'))
    const next = join('c')
    // Behind every promise that is settled now.
    await new Promise((resolve) => setImmediate(resolve))
    expect(asked()).toBe(4)
    for (const answer of [...pending]) answer(refused)
    await expect.poll(asked).toBe(5)
    expect(throttle.hasFailed('a', systemClock.monotonic())).toBe(true)
    pending[4]?.()
    expect(await next).toEqual({ certificate: 'signed' })
  })

  it('while it waits gives its turn to the next', async () => {
    const { join, pending, asked } = setUp(60_000)
    const open = ['a', 'a', 'b', 'b'].map((address) => join(address))
    const leave = new AbortController()
    await expect.poll(asked).toBe(4)
    const left = faultOf(join('c', leave.signal))
    const next = join('d')
    leave.abort(new RpcFault('cancelled', 'cancelled', 'the call was cancelled'))
    expect((await left).code).toBe('cancelled')
    pending[0]?.()
    await expect.poll(asked).toBe(5)
    for (const answer of [...pending]) answer()
    await Promise.all([...open, next])
  })
})
