/** What the host uses: the kernel's counters, control groups of the units (cgroups(7), v2), and systemd's times of the boot. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { ResourcePort, ResourceUse } from '../ports.ts'
import { fileSystemUse, memoryUse, processUse, textOf } from '../process-use.ts'
import type { Programs } from './run.ts'
import { UNITS } from './service.ts'

const GROUPS = '/sys/fs/cgroup/system.slice'
/** File systems that a node writes to. */
const PATHS: readonly string[] = ['/var', '/run', '/tmp']
const MOMENTS = ['Firmware', 'Loader', 'InitRD', 'Userspace', 'Finish'] as const
const DEADLINE_MS = 5_000

/** Returns the port. Its answer has no boot phases when systemd does not tell them in time. */
export function linuxResources(options: { readonly programs: Programs }): ResourcePort {
  return {
    measure: async (services, { signal }) => ({
      memory: memoryUse(),
      fileSystems: PATHS.filter(existsSync).map(fileSystemUse),
      services: services
        .filter(({ pid }) => pid !== 0)
        .map(({ name, pid }) => ({ name, ...processUse(pid), ...groupUse(UNITS[name]?.unit ?? name) })),
      bootPhases: await phases(options.programs, signal),
    }),
  }
}

function groupUse(unit: string) {
  const number = (file: string) => {
    const text = textOf(join(GROUPS, unit, file)).trim()
    return /^\d{1,16}$/.test(text) ? Number(text) : undefined
  }
  return { groupBytes: number('memory.current'), groupPeakBytes: number('memory.peak') }
}

async function phases(programs: Programs, signal: AbortSignal): Promise<ResourceUse['bootPhases']> {
  const properties = MOMENTS.map((moment) => `${moment}TimestampMonotonic`).join(',')
  const asked = programs.run('systemctl', ['show', `--property=${properties}`], {
    deadlineMs: DEADLINE_MS,
    signal,
  })
  return bootPhases(await asked.catch(() => ''))
}

/**
 * The parts of the boot in `systemctl show`, in milliseconds. Firmware and loader tell how long before the kernel they began, the others how long
 * after it (org.freedesktop.systemd1(5)); a part that there was none of, or that has not ended, is left out. Pure.
 */
export function bootPhases(shown: string): ResourceUse['bootPhases'] {
  const moment = (name: (typeof MOMENTS)[number]) =>
    Number(new RegExp(`^${name}TimestampMonotonic=(\\d{1,16})$`, 'm').exec(shown)?.[1] ?? 0) / 1000
  const [firmware, loader, initrd, userspace, finish] = MOMENTS.map(moment) as [
    // One number for each moment.
    number,
    number,
    number,
    number,
    number,
  ]
  return [
    { name: 'firmware', ms: firmware - loader },
    { name: 'loader', ms: loader },
    { name: 'kernel', ms: initrd === 0 ? userspace : initrd },
    { name: 'initrd', ms: initrd === 0 ? 0 : userspace - initrd },
    { name: 'userspace', ms: finish - userspace },
  ].filter(({ ms }) => ms > 0)
}
