import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DEFAULT_TURNS, TurnQueue, type Turn } from '../../../agent/trust/turn-queue.ts'

const { places, reserved, runningPerAddress, waitingPerAddress, waiting } = DEFAULT_TURNS

/** A queue of which every address that starts with `bad` has failed, and those of `failed`. */
function queueOf(failed = new Set<string>()): TurnQueue {
  return new TurnQueue(DEFAULT_TURNS, (address) => address.startsWith('bad') || failed.has(address))
}

function of(turns: readonly Turn[], kind: Turn['kind']): readonly Turn[] {
  return turns.filter((turn) => turn.kind === kind)
}

describe('addresses that have failed', () => {
  it('never keep a clean address from its turn, however many they are and whatever they do', () => {
    const step = fc.record({
      who: fc.integer({ min: 0, max: 299 }),
      what: fc.constantFrom('enter', 'enter', 'enter', 'end', 'give up'),
      which: fc.nat(),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
        const queue = queueOf()
        const turns: Turn[] = []
        for (const { who, what, which } of steps) {
          const [running, waits] = [of(turns, 'running'), of(turns, 'waiting')]
          if (what === 'enter') turns.push(queue.enter(`bad-${who}`))
          if (what === 'end') running[which % running.length]?.end()
          if (what === 'give up') waits[which % waits.length]?.giveUp()
        }
        for (let call = 0; call < reserved; call += 1) expect(queue.enter('clean').kind).toBe('running')
      }),
    )
  })

  it('wait behind every clean call', () => {
    const queue = queueOf()
    const clean = Array.from({ length: 8 }, (_, at) => queue.enter(`clean-${at}`))
    const bad = Array.from({ length: 20 }, (_, at) => queue.enter(`bad-${at}`))
    const late = queue.enter('late')
    for (let served = 0; served < 5; served += 1) {
      expect(of(bad, 'running')).toHaveLength(0)
      of([...clean, late], 'running')[0]?.end()
    }
    expect(of([...clean, late], 'waiting')).toHaveLength(0)
    expect(of(bad, 'running')).toHaveLength(0)
    of([...clean, late], 'running')[0]?.end()
    expect(of(bad, 'running')).toHaveLength(1)
  })

  it('have one call running, one waiting, and never the reserved places', () => {
    const queue = queueOf()
    const mine = Array.from({ length: 5 }, () => queue.enter('bad'))
    expect(mine.map((turn) => turn.kind)).toEqual(['running', 'waiting', 'over', 'over', 'over'])
    for (let other = 0; other < 10; other += 1) queue.enter(`bad-${other}`)
    expect(queue.running).toBe(places - reserved)
  })

  it('lose the calls that wait above their share when they fail', async () => {
    const failed = new Set<string>()
    const queue = queueOf(failed)
    const turns = Array.from({ length: runningPerAddress + waitingPerAddress + 1 }, () => queue.enter('a'))
    expect(of(turns, 'waiting')).toHaveLength(waitingPerAddress)
    expect(await turns.at(-1)?.granted).toBe(false)
    failed.add('a')
    turns[0]?.end()
    expect(of(turns, 'waiting')).toHaveLength(1)
  })
})

describe('clean addresses', () => {
  it('take turns: the one with few calls does not wait for all of the one with many', () => {
    const queue = queueOf()
    const greedy = ['a', 'b', 'c'].flatMap((who) => Array.from({ length: 6 }, () => queue.enter(who)))
    const modest = queue.enter('d')
    for (let served = 0; served < 3 && modest.kind === 'waiting'; served += 1) of(greedy, 'running')[0]?.end()
    expect(modest.kind).toBe('running')
  })

  it('find a place in a queue that is full of calls of others that failed, or wait more', () => {
    for (const kind of ['bad', 'clean']) {
      const queue = queueOf()
      for (let at = 0; at < places; at += 1) queue.enter(`first-${at}`)
      const share = kind === 'bad' ? 1 : waitingPerAddress
      const turns = Array.from({ length: waiting }, (_, at) =>
        queue.enter(`${kind}-${Math.floor(at / share)}`),
      )
      expect(of(turns, 'waiting')).toHaveLength(waiting)
      expect(queue.enter('new').kind).toBe('waiting')
      expect(of(turns, 'waiting')).toHaveLength(waiting - 1)
    }
  })
})

describe('a queue', () => {
  const step = fc.record({
    who: fc.constantFrom('a', 'b', 'c', 'd', 'bad-1', 'bad-2', 'bad-3', 'bad-4'),
    fresh: fc.boolean(),
    what: fc.constantFrom('enter', 'enter', 'end', 'give up', 'fail'),
    which: fc.nat(),
  })

  it('is bounded, leaves no place empty that somebody may have, and decides every call', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 400 }), async (steps) => {
        const failed = new Set<string>()
        const queue = queueOf(failed)
        const turns: Turn[] = []
        for (const [at, { who, fresh, what, which }] of steps.entries()) {
          const [running, waits] = [of(turns, 'running'), of(turns, 'waiting')]
          if (what === 'enter') turns.push(queue.enter(fresh ? `${who}-${at}` : who))
          if (what === 'give up') waits[which % waits.length]?.giveUp()
          const ending = what === 'end' || what === 'fail' ? running[which % running.length] : undefined
          if (what === 'fail' && ending !== undefined) failed.add(ending.address)
          ending?.end()
          ending?.end()
          expect(queue.running).toBe(of(turns, 'running').length)
          expect(queue.waiting).toBe(of(turns, 'waiting').length)
          expect(queue.running).toBeLessThanOrEqual(places)
          expect(queue.waiting).toBeLessThanOrEqual(waiting)
        }
        while (of(turns, 'running').length > 0) of(turns, 'running')[0]?.end()
        expect([queue.running, queue.waiting]).toEqual([0, 0])
        await Promise.all(turns.map((turn) => turn.granted))
      }),
    )
  })

  it('holds no more than its share under a flood of addresses', () => {
    for (const kind of ['bad', 'clean']) {
      const queue = queueOf()
      for (let at = 0; at < 2_000; at += 1) queue.enter(`${kind}-${at}`)
      expect(queue.waiting).toBe(waiting)
      expect(queue.running).toBeLessThanOrEqual(places)
    }
  })
})
