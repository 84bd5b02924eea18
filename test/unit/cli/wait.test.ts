import { describe, expect, it } from 'vitest'
import { systemClock, type Clock } from '#kit/clock'
import { Fault } from '#kit/fault'
import type { Service } from '#api'
import type { AgentClient } from '../../../agent/cli/nodes.ts'
import {
  describeReboot,
  describeRestart,
  untilInterrupted,
  waitForReboot,
  waitForRevision,
  waitForService,
  type WaitOptions,
} from '../../../agent/cli/wait.ts'

class Answer extends Fault<string> {
  readonly status: string
  constructor(status: string, code = status) {
    super(code, status)
    this.status = status
  }
}

type Moment = {
  readonly bootId?: string
  readonly state?: number
  readonly fails?: Answer
  readonly revision?: bigint
  readonly service?: Partial<Service>
}

const SERVICE: Service = {
  name: 'gateway',
  state: 2,
  pid: 41,
  since: new Date(1000),
  restarts: 0,
  lastExit: '',
}

/** A node that is another one at each look; the last moment stays. */
function node(moments: readonly Moment[], events: readonly { operationId: string; message: string }[] = []) {
  let looks = -1
  const now = (): Moment => moments[Math.min(looks, moments.length - 1)] ?? {}
  let closed = 0
  const answer = async <T>(value: () => T): Promise<T> => {
    const { fails } = now()
    if (fails !== undefined) throw fails
    return value()
  }
  const client = {
    system: {
      version: () => {
        looks += 1
        return answer(() => ({ bootId: now().bootId ?? '' }))
      },
      getStatus: () => {
        if (now().revision !== undefined || looks < 0) looks += 1
        return answer(() => ({
          status: { state: now().state ?? 2, configRevision: now().revision, stagedRevision: 0n },
        }))
      },
    },
    service: {
      list: () => {
        looks += 1
        return answer(() => ({ services: [{ ...SERVICE, ...now().service }] }))
      },
    },
    event: {
      watch: async function* (_request: unknown, { signal }: { signal: AbortSignal }) {
        let sequence = 0n
        for (const event of events) yield { event: { ...event, sequence: (sequence += 1n) }, missed: 0n }
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      },
    },
    close: () => {
      closed += 1
    },
  }
  return { connect: () => client as unknown as AgentClient, closed: () => closed } // only these calls are made
}

/** Time that passes only by sleeping, and then at once. */
function fastClock(): Clock {
  let at = 0
  return {
    now: () => new Date(at),
    monotonic: () => at,
    sleep: async (ms, signal) => {
      at += ms
      await systemClock.sleep(0, signal)
    },
  }
}

function options(connect: () => AgentClient, changes: Partial<WaitOptions> = {}): WaitOptions {
  return {
    node: 'worker-1',
    connect,
    clock: fastClock(),
    signal: new AbortController().signal,
    deadlineMs: 20_000,
    operationId: 'op-1',
    onProgress: () => undefined,
    ...changes,
  }
}

describe('waitForReboot', () => {
  it('ends by the new boot id alone, over a dropped connection and the boot sequence', async () => {
    const { connect } = node([
      { bootId: 'old', state: 4 },
      { fails: new Answer('unavailable') },
      { fails: new Answer('deadline_exceeded') },
      { bootId: 'new', state: 1 },
      { bootId: 'new', state: 2 },
    ])
    expect(await waitForReboot('old', options(connect))).toMatchObject({
      oldBootId: 'old',
      newBootId: 'new',
    })
  })

  it('stops at once when our certificate is refused, instead of calling the node unreachable (BR-055)', async () => {
    const { connect } = node([{ fails: new Answer('unavailable', 'certificate_refused') }])
    await expect(waitForReboot('old', options(connect))).rejects.toMatchObject({
      code: 'certificate_refused',
    })
  })

  it('ends with its deadline, and says what it last saw', async () => {
    const { connect, closed } = node([{ bootId: 'old' }])
    await expect(waitForReboot('old', options(connect, { deadlineMs: 40 }))).rejects.toMatchObject({
      code: 'wait_deadline',
      message: expect.stringContaining('still boot old') as string,
    })
    expect(closed()).toBeGreaterThan(0)
  })

  it('ends with the signal of the person', async () => {
    const controller = new AbortController()
    const { connect } = node([{ bootId: 'old' }])
    const waiting = waitForReboot('old', options(connect, { signal: controller.signal }))
    controller.abort(new Error('interrupted'))
    await expect(waiting).rejects.toThrow('interrupted')
  })

  it('shows the events of this operation, and no others', async () => {
    const seen: string[] = []
    const events = [
      { operationId: 'op-0', message: 'somebody else' },
      { operationId: 'op-1', message: 'gateway stopped' },
    ]
    const { connect } = node([{ bootId: 'old' }, { bootId: 'old' }, { bootId: 'new' }], events)
    await waitForReboot('old', options(connect, { onProgress: (text) => seen.push(text) }))
    expect(seen).toEqual(['worker-1  gateway stopped'])
  })
})

describe('waitForRevision', () => {
  it('ends when the revision is in force', async () => {
    const { connect } = node([{ revision: 1n }, { revision: 1n }, { revision: 2n }])
    await waitForRevision({ revision: 2n, staged: false }, options(connect))
  })
})

describe('waitForService', () => {
  it('ends when another process runs, not while the old one still does or the new one starts', async () => {
    const { connect } = node([
      { service: {} },
      { service: { state: 4, pid: 0 } },
      { fails: new Answer('unavailable') },
      { service: { state: 1, pid: 57, since: new Date(2000) } },
      { service: { state: 2, pid: 57, since: new Date(3000) } },
    ])
    const proof = await waitForService(SERVICE, options(connect))
    expect(proof.after).toMatchObject({ state: 2, pid: 57 })
    expect(describeRestart('worker-1', { ...proof, elapsedMs: 800 })).toBe(
      'worker-1 restarted gateway  pid 41 → 57  in 0.8 s',
    )
  })

  it('takes a later begin for proof when the process id came round again', async () => {
    const { connect } = node([{ service: { since: new Date(3000) } }])
    expect((await waitForService(SERVICE, options(connect))).after.pid).toBe(41)
  })

  it('ends with its deadline while the old process runs on', async () => {
    const { connect } = node([{ service: {} }])
    await expect(waitForService(SERVICE, options(connect, { deadlineMs: 40 }))).rejects.toMatchObject({
      code: 'wait_deadline',
    })
  })
})

describe('untilInterrupted', () => {
  it.each([
    [true, 'interrupted; the reboot had been accepted and goes on'],
    [false, 'interrupted; it is not known whether the reboot was accepted'],
  ])('says how far it came (accepted: %s)', async (isAccepted, message) => {
    const leaving = AbortSignal.abort(new Error('left'))
    const act = async (accept: () => void): Promise<void> => {
      if (isAccepted) accept()
      leaving.throwIfAborted()
    }
    await expect(untilInterrupted(leaving, 'reboot', act)).rejects.toMatchObject({
      code: 'interrupted',
      message,
      hint: 'stelectl status -w',
    })
  })
})

describe('describeReboot', () => {
  it('names both boots and the time between', () => {
    const proof = { oldBootId: '1b2c0f5e-7777', newBootId: '9f3e77aa-1111', elapsedMs: 1800 }
    expect(describeReboot('worker-1', proof)).toBe('worker-1 rebooted  boot 1b2c0f5e… → 9f3e77aa…  in 1.8 s')
  })
})
