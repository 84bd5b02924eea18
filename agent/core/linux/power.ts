/**
 * Brings a real host down, whatever state it is in.
 *
 * Invariants: each way has a deadline, and when it was accepted and core is still there long after, the next one is tried; the last one needs no
 * other process, no memory to speak of and no file to be opened: its descriptor was opened at the start.
 */
import { openSync, writeSync } from 'node:fs'
import type { Clock } from '#kit/clock'
import type { Log } from '#kit/log'
import type { PowerPort } from '../ports.ts'
import { LinuxFault } from './fault.ts'
import type { Programs } from './run.ts'

export type Down = 'reboot' | 'poweroff'

/** One way down: a command to PID 1, and how long core may outlive its acceptance. */
export type Way = { readonly args: readonly string[]; readonly deadlineMs: number; readonly graceMs: number }

/** Writes one key to the kernel (Documentation/admin-guide/sysrq); false when the kernel refused. */
export type SysrqKey = (key: string) => boolean

/** Longer than systemd waits for a service that does not stop (`DefaultTimeoutStopSec`), twice. */
const ORDERLY_GRACE_MS = 75_000
const FORCED_GRACE_MS = 20_000
const COMMAND_MS = 10_000
/** The kernel syncs and remounts in the background; there is no way to hear that it is done. */
const SYSRQ_PAUSE_MS = 1_500

/** Returns the ways down in the order they are tried, sysrq not among them. Pure. */
export function waysDown(down: Down, options: { readonly forced: boolean }): readonly Way[] {
  const orderly: Way = { args: [down], deadlineMs: COMMAND_MS, graceMs: ORDERLY_GRACE_MS }
  const forced: Way = { args: ['--force', down], deadlineMs: COMMAND_MS, graceMs: FORCED_GRACE_MS }
  return options.forced ? [forced] : [orderly, forced]
}

/** Returns the port. Its calls end with the machine, by their signal when core is stopped, or with LinuxFault `power_refused`. */
export function hostPower(options: {
  readonly programs: Programs
  readonly sysrq: SysrqKey
  readonly clock: Clock
  readonly log: Log
}): PowerPort {
  const { programs, sysrq, clock, log } = options
  const bringDown = async (down: Down, forced: boolean, signal: AbortSignal) => {
    for (const { args, deadlineMs, graceMs } of waysDown(down, { forced })) {
      try {
        await programs.run('systemctl', ['--no-wall', ...args], { deadlineMs, signal })
        await clock.sleep(graceMs, signal)
        log.warn('accepted and not done, going on by force', { down, args })
      } catch (error) {
        signal.throwIfAborted()
        log.warn('a way down failed', { down, args, error })
      }
    }
    for (const key of ['s', 'u', down === 'reboot' ? 'b' : 'o']) {
      if (!sysrq(key)) throw new LinuxFault('power_refused', 'no way to bring the machine down was accepted')
      await clock.sleep(SYSRQ_PAUSE_MS, signal)
    }
  }
  return {
    reboot: async ({ forced, signal }) => bringDown('reboot', forced, signal),
    shutdown: async ({ forced, signal }) => bringDown('poweroff', forced, signal),
  }
}

/** Returns the way to the kernel's last resort, with its descriptor open; one that always refuses when it cannot be opened. */
export function openSysrq(path = '/proc/sysrq-trigger'): SysrqKey {
  let descriptor: number
  try {
    descriptor = openSync(path, 'w')
  } catch {
    return () => false
  }
  return (key) => {
    try {
      return writeSync(descriptor, key) === key.length
    } catch {
      return false
    }
  }
}
