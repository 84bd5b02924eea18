/** Services of the real host: units of systemd, asked for and commanded through systemctl. */
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import type { Clock } from '#kit/clock'
import { unlessAborted } from '#kit/lifetime'
import { RpcFault } from '#rpc'
import type { BootPort, ServiceInfo, ServicePort, ServiceStateName } from '../ports.ts'
import { LinuxFault } from './fault.ts'
import type { Programs } from './run.ts'

/** Name in the API to unit. Those that are not core's own are listed only on a host that has them. */
export const UNITS: Readonly<Record<string, { readonly unit: string; readonly optional: boolean }>> = {
  containerd: { unit: 'containerd.service', optional: true },
  core: { unit: 'stele-core.service', optional: false },
  gateway: { unit: 'stele-gateway.service', optional: false },
  kubelet: { unit: 'kubelet.service', optional: true },
  trust: { unit: 'stele-trust.service', optional: false },
}

const PROPERTIES = [
  ...['Id', 'LoadState', 'ActiveState', 'SubState', 'MainPID', 'NRestarts'],
  ...['ExecMainCode', 'ExecMainStatus', 'StateChangeTimestampMonotonic'],
]
const DEADLINE_MS = 10_000
/** One answer serves everyone who asks within this time: each question is a process, and core looks every second. */
const FRESH_MS = 900
/** While no process came or went, the answer is only asked for again after this time. */
const SETTLED_MS = 15_000

/**
 * Returns the port. A list is at most 0.9 s old, or 15 s while every service is settled and has the processes it had; at most one question is asked
 * at a time.
 */
export function systemdServices(options: {
  readonly programs: Programs
  readonly boot: BootPort
  readonly clock: Clock
  /** Text that is another one when a process of a service came or went. */
  readonly processes?: () => string
}): ServicePort {
  const { programs, boot, clock, processes = processesOf } = options
  const units = Object.values(UNITS).map(({ unit }) => unit)
  let latest: Answer | undefined

  const ask = async () => {
    // Not the signal of whoever came first: the answer is for all who wait.
    const signal = AbortSignal.timeout(DEADLINE_MS)
    const text = await programs.run('systemctl', ['show', `--property=${PROPERTIES.join(',')}`, ...units], {
      deadlineMs: DEADLINE_MS,
      signal,
    })
    const { bootedAt } = await boot.current({ signal })
    return parseUnits(text, bootedAt)
  }
  const command = (verb: string) => async (name: string, waiting: { readonly signal: AbortSignal }) => {
    const unit = unitOf(name)
    await programs.run('systemctl', ['--no-block', verb, unit], { deadlineMs: DEADLINE_MS, ...waiting })
    latest = undefined
  }
  return {
    list: async ({ signal }) => {
      signal.throwIfAborted()
      const now = clock.monotonic()
      if (latest === undefined || !isFresh(latest, now, processes)) {
        // Looked at before the question: what happens during it is seen by the next look.
        const answer: Answer = { at: now, processes: processes(), isSettled: false, list: ask() }
        latest = answer
        answer.list.then(
          (list) => {
            answer.isSettled = list.every(({ state }) => state === 'running' || state === 'stopped')
          },
          () => {
            if (latest === answer) latest = undefined
          },
        )
      }
      return unlessAborted(latest.list, signal)
    },
    restart: command('restart'),
    start: command('start'),
    stop: command('stop'),
  }
}

type Answer = {
  readonly at: number
  readonly processes: string
  readonly list: Promise<readonly ServiceInfo[]>
  isSettled: boolean
}

function isFresh(answer: Answer, now: number, processes: () => string): boolean {
  const age = now - answer.at
  if (age <= FRESH_MS) return true
  return age <= SETTLED_MS && answer.isSettled && answer.processes === processes()
}

/** Control groups tell it without a process (cgroups(7)). Core's own is left out: it is alive, and starts programs all the time. */
function processesOf(): string {
  return Object.entries(UNITS)
    .filter(([name]) => name !== 'core')
    .map(([name, { unit }]) => `${name} ${textOf(`/sys/fs/cgroup/system.slice/${unit}/cgroup.procs`)}`)
    .join()
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** Returns the services that `systemctl show` printed, sorted by name. Throws LinuxFault `program_failed`. Pure. */
export function parseUnits(text: string, bootedAt: Date): readonly ServiceInfo[] {
  const blocks = text.split(/\n\s*\n/).map(
    (block) =>
      new Map(
        block.split('\n').flatMap((line): [string, string][] => {
          const at = line.indexOf('=')
          return at < 1 ? [] : [[line.slice(0, at), line.slice(at + 1)]]
        }),
      ),
  )
  return Object.entries(UNITS).flatMap(([name, { unit, optional }]) => {
    const found = blocks.find((block) => block.get('Id') === unit)
    if (found === undefined)
      throw new LinuxFault('program_failed', 'systemctl did not tell of every unit it was asked for')
    if (optional && found.get('LoadState') !== 'loaded') return []
    return [toService(name, found, bootedAt)]
  })
}

function toService(name: string, unit: ReadonlyMap<string, string>, bootedAt: Date): ServiceInfo {
  const number = (key: string) => Number.parseInt(unit.get(key) ?? '', 10) || 0
  return {
    name,
    state: stateOf(unit.get('ActiveState') ?? '', unit.get('SubState') ?? ''),
    pid: number('MainPID'),
    since: new Date(bootedAt.getTime() + Math.round(number('StateChangeTimestampMonotonic') / 1000)),
    restarts: number('NRestarts'),
    lastExit: exitOf(number('ExecMainCode'), number('ExecMainStatus')),
  }
}

/** States of systemd's units in our words (systemctl(1), org.freedesktop.systemd1(5)). Pure. */
function stateOf(active: string, sub: string): ServiceStateName {
  if (active === 'active' || active === 'reloading' || active === 'refreshing') return 'running'
  if (active !== 'activating') return 'stopped'
  return sub.startsWith('auto-restart') ? 'restarting' : 'starting'
}

/** `code` is that of waitid(2): 1 exited, 2 killed by a signal, 3 the same with a core dump; 0 while it never ended. */
function exitOf(code: number, status: number): string {
  if (code === 1) return `exit code ${status}`
  if (code !== 2 && code !== 3) return ''
  const name = Object.entries(constants.signals).find(([, number]) => number === status)?.[0]
  return `signal ${name ?? status}`
}

function unitOf(name: string): string {
  const found = Object.hasOwn(UNITS, name) ? UNITS[name] : undefined
  if (found === undefined)
    throw new RpcFault('not_found', 'service_unknown', 'there is no service of that name')
  return found.unit
}
