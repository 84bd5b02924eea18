import { describe, expect, it } from 'vitest'
import { ParseQueue } from '../../../../agent/core/config/parse-queue.ts'

const { signal } = new AbortController()
const outcome = (run: Promise<unknown>) =>
  run.then(
    (value) => value,
    (error: unknown) => (error as { code?: string }).code ?? String(error),
  )

describe('the queue of documents to parse', () => {
  it('runs in order, one in each round of the event loop', async () => {
    const queue = new ParseQueue(['a'])
    const seen: string[] = []
    const runs = [1, 2, 3].map((turn) =>
      queue.run(
        'a',
        () => {
          seen.push(`turn ${turn}`)
          setImmediate(() => seen.push(`others after ${turn}`))
        },
        { signal },
      ),
    )
    expect(seen).toEqual([])
    await Promise.all(runs)
    expect(seen.slice(0, 4)).toEqual(['turn 1', 'others after 1', 'turn 2', 'others after 2'])
  })

  it('refuses the fifth that would wait in a lane, and takes others once there is room', async () => {
    const queue = new ParseQueue(['a', 'b'])
    const run = (lane: 'a' | 'b', turn: number) => outcome(queue.run(lane, () => turn, { signal }))
    const runs = [1, 2, 3, 4, 5].map((turn) => run('a', turn))
    expect(await Promise.all([...runs, run('b', 6)])).toEqual([1, 2, 3, 4, 'node_busy', 6])
    expect(await run('a', 7)).toBe(7)
  })

  it('serves the first lane first', async () => {
    const queue = new ParseQueue(['a', 'b'])
    const seen: number[] = []
    const run = (lane: 'a' | 'b', turn: number) => queue.run(lane, () => seen.push(turn), { signal })
    await Promise.all([run('b', 1), run('b', 2), run('a', 3), run('a', 4)])
    expect(seen).toEqual([3, 4, 1, 2])
  })

  it('passes on what the work throws, and goes on', async () => {
    const queue = new ParseQueue(['a'])
    const fail = () => {
      throw new Error('broken')
    }
    const runs = [queue.run('a', fail, { signal }), queue.run('a', () => 1, { signal })]
    expect(await Promise.all(runs.map(outcome))).toEqual(['Error: broken', 1])
  })

  it('never begins for a call that is over, and gives its place to another', async () => {
    const queue = new ParseQueue(['a'])
    const gone = new AbortController()
    const seen: number[] = []
    const left = [1, 2, 3, 4].map((turn) =>
      outcome(queue.run('a', () => seen.push(turn), { signal: gone.signal })),
    )
    gone.abort(new Error('over'))
    const stays = queue.run('a', () => seen.push(5), { signal })
    expect(await Promise.all(left)).toEqual(Array(4).fill('Error: over'))
    await stays
    expect(await outcome(queue.run('a', () => seen.push(6), { signal: gone.signal }))).toBe('Error: over')
    expect(seen).toEqual([5])
  })
})
