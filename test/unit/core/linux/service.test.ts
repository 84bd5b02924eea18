import { describe, expect, it } from 'vitest'
import type { Programs } from '../../../../agent/core/linux/run.ts'
import { parseUnits, systemdServices } from '../../../../agent/core/linux/service.ts'
import { systemClock } from '../../../../agent/kit/clock.ts'

const bootedAt = new Date('2026-01-01T00:00:00Z')
const never = new AbortController().signal

function unit(id: string, fields: Readonly<Record<string, string | number>>): string {
  const all = {
    Id: id,
    LoadState: 'loaded',
    ActiveState: 'active',
    SubState: 'running',
    MainPID: 100,
    NRestarts: 0,
    ExecMainCode: 0,
    ExecMainStatus: 0,
    StateChangeTimestampMonotonic: 5_000_000,
    ...fields,
  }
  return Object.entries(all)
    .map(([key, value]) => `${key}=${value}\n`)
    .join('')
}

const absent = { LoadState: 'not-found', ActiveState: 'inactive', SubState: 'dead', MainPID: 0 }
const shown = [
  unit('containerd.service', { ActiveState: 'inactive', SubState: 'dead', MainPID: 0 }),
  unit('stele-core.service', { NRestarts: 2, ExecMainCode: 2, ExecMainStatus: 9 }),
  unit('stele-gateway.service', {
    ActiveState: 'activating',
    SubState: 'auto-restart',
    MainPID: 0,
    ExecMainCode: 1,
    ExecMainStatus: 3,
  }),
  unit('kubelet.service', absent),
  unit('stele-trust.service', { ActiveState: 'activating', SubState: 'start' }),
].join('\n')

describe('parseUnits', () => {
  it('tells state, process, time, restarts and the last end of each service', () => {
    const list = parseUnits(shown, bootedAt)
    expect(list.map(({ name, state }) => [name, state])).toEqual([
      ['containerd', 'stopped'],
      ['core', 'running'],
      ['gateway', 'restarting'],
      ['trust', 'starting'],
    ])
    expect(list.find(({ name }) => name === 'core')).toEqual({
      name: 'core',
      state: 'running',
      pid: 100,
      since: new Date('2026-01-01T00:00:05Z'),
      restarts: 2,
      lastExit: 'signal SIGKILL',
    })
    expect(list.find(({ name }) => name === 'gateway')?.lastExit).toBe('exit code 3')
  })

  it('refuses an answer that does not tell of every unit', () => {
    expect(() => parseUnits('', bootedAt)).toThrow(expect.objectContaining({ code: 'program_failed' }))
  })

  it('shows a service of our own that the image lacks as stopped', () => {
    const text = shown.replace(
      unit('stele-trust.service', { ActiveState: 'activating', SubState: 'start' }),
      unit('stele-trust.service', absent),
    )
    expect(parseUnits(text, bootedAt).at(-1)).toMatchObject({ name: 'trust', state: 'stopped', pid: 0 })
  })
})

describe('systemdServices', () => {
  const boot = { current: async () => ({ bootId: 'b', bootedAt }) }
  function asked(run: Programs['run']) {
    const programs: Programs = { find: () => '/x', run, stream: () => expect.unreachable() }
    return systemdServices({ programs, boot, clock: systemClock })
  }

  it('asks once for all who ask at the same time', async () => {
    let calls = 0
    const services = asked(async () => {
      calls += 1
      return shown
    })
    await Promise.all([services.list({ signal: never }), services.list({ signal: never })])
    expect(calls).toBe(1)
  })

  it('asks again while a service is not settled, or when its processes are others', async () => {
    let calls = 0
    let now = 0
    let processes = 'a'
    let text = shown
    const programs: Programs = {
      find: () => '/x',
      run: async () => {
        calls += 1
        return text
      },
      stream: () => expect.unreachable(),
    }
    const clock = { ...systemClock, monotonic: () => now }
    const services = systemdServices({ programs, boot, clock, processes: () => processes })
    const callsAfter = async (ms: number) => {
      now += ms
      await services.list({ signal: never })
      return calls
    }
    expect(await callsAfter(0)).toBe(1)
    expect(await callsAfter(1000)).toBe(2)
    text = shown.replaceAll('activating', 'active')
    expect(await callsAfter(1000)).toBe(3)
    expect(await callsAfter(14_000)).toBe(3)
    processes = 'b'
    expect(await callsAfter(100)).toBe(4)
    expect(await callsAfter(1000)).toBe(4)
    expect(await callsAfter(15_000)).toBe(5)
  })

  it('asks again after a failure', async () => {
    let calls = 0
    const services = asked(async () => {
      calls += 1
      if (calls === 1) throw new Error('systemd is busy')
      return shown
    })
    await expect(services.list({ signal: never })).rejects.toThrow('busy')
    expect(await services.list({ signal: never })).toHaveLength(4)
  })

  it('lets one who leaves go, and answers the others', async () => {
    let answer: (text: string) => void = () => undefined
    const services = asked(() => new Promise<string>((resolve) => (answer = resolve)))
    const leave = new AbortController()
    const left = services.list({ signal: leave.signal })
    const stays = services.list({ signal: never })
    leave.abort(new Error('left'))
    await expect(left).rejects.toThrow('left')
    answer(shown)
    expect(await stays).toHaveLength(4)
  })

  it('commands the unit of a service, and no other', async () => {
    const calls: string[] = []
    const services = asked(async (_name, args) => {
      calls.push(args.join(' '))
      return ''
    })
    await services.restart('gateway', { signal: never })
    await services.start('trust', { signal: never })
    for (const name of ['sshd', 'toString', '../x', 'stele-core.service']) {
      await expect(services.restart(name, { signal: never })).rejects.toMatchObject({
        code: 'service_unknown',
      })
    }
    expect(calls).toEqual([
      '--no-block restart stele-gateway.service',
      '--no-block start stele-trust.service',
    ])
  })
})
