import { describe, expect, it } from 'vitest'
import { systemClock } from '#kit/clock'
import { Fault } from '#kit/fault'
import { guard } from '../../../agent/cli/guard.ts'
import type { Selection } from '../../../agent/cli/nodes.ts'
import type { Run } from '../../../agent/cli/run.ts'
import { capture } from './capture.ts'

class Denied extends Fault<string> {
  readonly status = 'permission_denied'
}

type Options = { readonly yes?: boolean }

function run(options: Options, confirm?: Run<Options>['confirm']) {
  const { output, stderr } = capture()
  const made: Run<Options> = {
    env: {},
    output,
    signal: new AbortController().signal,
    clock: systemClock,
    confirm,
    settle: () => undefined,
    shared: { configPath: '', context: undefined, nodes: undefined, timeoutMs: undefined },
    options,
    operands: [],
  }
  return { made, stderr }
}

const nodes = ['cp-1', 'worker-1'].map((name) => ({ name })) as unknown as Selection['nodes'] // only names are read
const selection: Selection = { nodes, isDeliberate: false, context: 'demo' }
const never = { doing: 'reboot', dryRun: () => Promise.reject(new Error('must not be asked')) }
const allowed = { doing: 'reboot', dryRun: async () => undefined }

describe('guard', () => {
  it('lets through what was named, or said yes to, without asking anybody', async () => {
    expect(await guard(run({}).made, { ...selection, isDeliberate: true }, never)).toBeUndefined()
    expect(await guard(run({ yes: true }).made, selection, never)).toBeUndefined()
  })

  it('shows the refusal of a dry run first, so that a reader learns of the missing role', async () => {
    const { made, stderr } = run({}, () => Promise.reject(new Error('must not be asked')))
    const denied = {
      doing: 'reboot',
      dryRun: () => Promise.reject(new Denied('role_missing', 'not for you')),
    }
    expect(await guard(made, selection, denied)).toBe(4)
    expect(stderr()).toBe('error: PERMISSION_DENIED: not for you\n')
  })

  it('refuses without a person to ask, and names the nodes', async () => {
    await expect(guard(run({}).made, selection, allowed)).rejects.toMatchObject({
      code: 'nodes_unnamed',
      message: 'this would reboot 2 nodes: cp-1, worker-1',
    })
  })

  it('does what the person answers', async () => {
    expect(await guard(run({}, async () => true).made, selection, allowed)).toBeUndefined()
    await expect(guard(run({}, async () => false).made, selection, allowed)).rejects.toMatchObject({
      code: 'not_confirmed',
    })
  })
})
