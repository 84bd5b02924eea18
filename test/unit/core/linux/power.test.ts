import { describe, expect, it } from 'vitest'
import { hostPower } from '../../../../agent/core/linux/power.ts'
import type { Programs } from '../../../../agent/core/linux/run.ts'

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined, child: () => silent }

/** A host on which each command does what `answers` say; time passes at once, and stops core when `stopAtSleep` is reached. */
function host(options: { accepts: (command: string) => boolean; stopAtSleep?: number; sysrq?: boolean }) {
  const done: string[] = []
  const stop = new AbortController()
  let sleeps = 0
  const programs: Programs = {
    find: () => '/x',
    run: async (name, args, { deadlineMs }) => {
      expect(deadlineMs).toBeGreaterThan(0)
      done.push(`${name} ${args.filter((arg) => arg !== '--no-wall').join(' ')}`)
      if (!options.accepts(args.join(' '))) throw new Error('refused')
      return ''
    },
    stream: () => expect.unreachable(),
  }
  const clock = {
    now: () => new Date(0),
    monotonic: () => 0,
    sleep: async () => {
      sleeps += 1
      if (sleeps === options.stopAtSleep) stop.abort(new Error('core stops'))
      stop.signal.throwIfAborted()
    },
  }
  const sysrq = (key: string) => {
    done.push(`sysrq ${key}`)
    return options.sysrq ?? true
  }
  return { power: hostPower({ programs, sysrq, clock, log: silent }), done, signal: stop.signal }
}

describe('hostPower', () => {
  it('asks for an orderly reboot, and does nothing more when core is stopped by it', async () => {
    const { power, done, signal } = host({ accepts: () => true, stopAtSleep: 1 })
    await expect(power.reboot({ forced: false, signal })).rejects.toThrow('core stops')
    expect(done).toEqual(['systemctl reboot'])
  })

  it('goes on by force, and then by sysrq, when it is refused', async () => {
    const { power, done, signal } = host({ accepts: () => false })
    await power.reboot({ forced: false, signal })
    expect(done).toEqual(['systemctl reboot', 'systemctl --force reboot', 'sysrq s', 'sysrq u', 'sysrq b'])
  })

  it('goes on in the same way when it is accepted and nothing happens', async () => {
    const { power, done, signal } = host({ accepts: () => true })
    await power.shutdown({ forced: false, signal })
    expect(done).toEqual([
      'systemctl poweroff',
      'systemctl --force poweroff',
      'sysrq s',
      'sysrq u',
      'sysrq o',
    ])
  })

  it('leaves the orderly way out when it is to be forced', async () => {
    const { power, done, signal } = host({ accepts: () => true, stopAtSleep: 1 })
    await expect(power.reboot({ forced: true, signal })).rejects.toThrow('core stops')
    expect(done).toEqual(['systemctl --force reboot'])
  })

  it('says so when even the kernel refuses', async () => {
    const { power, signal } = host({ accepts: () => false, sysrq: false })
    await expect(power.reboot({ forced: true, signal })).rejects.toMatchObject({ code: 'power_refused' })
  })
})
