import { describe, expect, it } from 'vitest'
import { CliFault } from '../../../agent/cli/fault.ts'
import { fanOut, groupFailures, report, reportFailures, type Outcome } from '../../../agent/cli/fan-out.ts'
import { capture } from './capture.ts'

const nodes = [{ name: 'cp-1' }, { name: 'worker-1' }]

describe('fanOut', () => {
  it('keeps the order of the nodes and every answer beside a failure', async () => {
    const outcomes = await fanOut(nodes, async ({ name }) => {
      if (name === 'cp-1') throw new CliFault('wait_deadline', 'too late')
      return name.length
    })
    expect(outcomes).toEqual([
      expect.objectContaining({ node: 'cp-1', kind: 'failure' }),
      { node: 'worker-1', kind: 'answer', value: 8 },
    ])
  })

  it('calls the nodes at the same time', async () => {
    let waiting = 0
    let release: () => void = () => undefined
    const all = new Promise<void>((resolve) => (release = resolve))
    const outcomes = await fanOut(nodes, async () => {
      waiting += 1
      if (waiting === nodes.length) release()
      await all
      return waiting
    })
    expect(outcomes.every((outcome) => outcome.kind === 'answer')).toBe(true)
  })
})

describe('groupFailures', () => {
  const failed = (node: string, message: string): Outcome<never> => ({
    node,
    kind: 'failure',
    failure: { code: 'denied', status: 'PERMISSION_DENIED', message, exit: 4 },
  })

  it('tells one cause on every node once, without a node', () => {
    expect(groupFailures([failed('a', 'same'), failed('b', 'same')])).toEqual([
      { place: undefined, failure: expect.objectContaining({ message: 'same' }) as unknown },
    ])
  })

  it('names the nodes when they differ, or when some answered', () => {
    expect(groupFailures([failed('a', 'one'), failed('b', 'two')]).map(({ place }) => place?.node)).toEqual([
      'a',
      'b',
    ])
    const answered: Outcome<number> = { node: 'b', kind: 'answer', value: 1 }
    expect(groupFailures([failed('a', 'one'), answered]).map(({ place }) => place)).toEqual([{ node: 'a' }])
  })

  it('always tells which node cannot be reached, and where it was looked for', () => {
    const gone: Outcome<never> = {
      node: 'cp-1',
      address: '10.0.0.1:50000',
      kind: 'failure',
      failure: { code: 'node_unreachable', status: 'UNAVAILABLE', message: 'nobody answers', exit: 5 },
    }
    const { output, stderr } = capture()
    reportFailures(output, [gone])
    expect(stderr()).toBe('error: UNAVAILABLE: cp-1 (10.0.0.1:50000): nobody answers\n')
  })
})

describe('report', () => {
  it('prints an array with one object a node, failures included, and returns the worst exit', async () => {
    const { output, stdout, stderr } = capture()
    await output.use('json')
    const outcomes = await fanOut(nodes, async ({ name }) => {
      if (name === 'cp-1') throw new CliFault('wait_deadline', 'too late', { hint: 'wait longer' })
      return { revision: 7n }
    })
    const exit = report(output, outcomes, { data: (value) => value, text: () => '' })
    expect(exit).toBe(5)
    expect(JSON.parse(stdout())).toEqual([
      {
        node: 'cp-1',
        error: { code: 'wait_deadline', status: 'WAIT_DEADLINE', message: 'too late', hint: 'wait longer' },
      },
      { node: 'worker-1', revision: 7 },
    ])
    expect(JSON.parse(stderr())).toEqual({
      error: {
        code: 'wait_deadline',
        status: 'WAIT_DEADLINE',
        message: 'too late',
        hint: 'wait longer',
        node: 'cp-1',
      },
    })
  })
})
