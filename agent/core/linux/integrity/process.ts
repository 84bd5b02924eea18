/** What processes may do, from the kernel's own text (proc_pid_status(5), capabilities(7)). */
import { readdirSync, readlinkSync } from 'node:fs'
import type { ConfinedProcess } from '../../ports.ts'
import { textOf } from '../../process-use.ts'

/** Names by bit, as in linux/capability.h. */
const CAPABILITIES: readonly string[] = [
  ...['CHOWN', 'DAC_OVERRIDE', 'DAC_READ_SEARCH', 'FOWNER', 'FSETID', 'KILL', 'SETGID', 'SETUID', 'SETPCAP'],
  ...[
    'LINUX_IMMUTABLE',
    'NET_BIND_SERVICE',
    'NET_BROADCAST',
    'NET_ADMIN',
    'NET_RAW',
    'IPC_LOCK',
    'IPC_OWNER',
  ],
  ...[
    'SYS_MODULE',
    'SYS_RAWIO',
    'SYS_CHROOT',
    'SYS_PTRACE',
    'SYS_PACCT',
    'SYS_ADMIN',
    'SYS_BOOT',
    'SYS_NICE',
  ],
  ...[
    'SYS_RESOURCE',
    'SYS_TIME',
    'SYS_TTY_CONFIG',
    'MKNOD',
    'LEASE',
    'AUDIT_WRITE',
    'AUDIT_CONTROL',
    'SETFCAP',
  ],
  ...['MAC_OVERRIDE', 'MAC_ADMIN', 'SYSLOG', 'WAKE_ALARM', 'BLOCK_SUSPEND', 'AUDIT_READ', 'PERFMON', 'BPF'],
  'CHECKPOINT_RESTORE',
]
const MAX_PROCESSES = 4_096
const MAX_DESCRIPTORS = 65_536

export type ProcessGroup = { readonly pid: number; readonly unit: string }

/** Processes and the units they belong to; those that end meanwhile are left out. */
export function processGroups(): readonly ProcessGroup[] {
  return readdirSync('/proc')
    .filter((name) => /^\d{1,9}$/.test(name))
    .slice(0, MAX_PROCESSES)
    .map((name) => ({ pid: Number(name), unit: unitOf(textOf(`/proc/${name}/cgroup`)) }))
    .filter(({ unit }) => unit !== '')
}

/** Name of the unit in /proc/PID/cgroup of version 2: below system.slice its own, elsewhere the whole path; empty for the kernel's threads. Pure. */
export function unitOf(cgroup: string): string {
  const [, path = ''] = /^0::\/(.*)$/m.exec(cgroup) ?? []
  return /^system\.slice\/([^/]+)/.exec(path)?.[1] ?? path
}

/** What Stele's own processes may do, sorted by unit and process. */
export function confinedProcesses(groups: readonly ProcessGroup[]): readonly ConfinedProcess[] {
  return groups
    .filter(({ unit }) => /^stele-.*\.service$/.test(unit))
    .flatMap(({ pid, unit }) => {
      const status = parseStatus(textOf(`/proc/${pid}/status`))
      return status === undefined ? [] : [{ unit, pid, ...status }]
    })
    .sort((a, b) => (a.unit === b.unit ? a.pid - b.pid : a.unit < b.unit ? -1 : 1))
}

/** Undefined unless every field is there: half an answer would read as a process without rights. Pure. */
export function parseStatus(status: string): Omit<ConfinedProcess, 'unit' | 'pid'> | undefined {
  const field = (pattern: RegExp) => pattern.exec(status)?.[1]
  const mask = (name: string) => field(new RegExp(`^${name}:\\s+([0-9a-f]{16})$`, 'm'))
  const uid = field(/^Uid:\s+\d{1,10}\s+(\d{1,10})\s/m)
  const [effective, permitted, bounding] = [mask('CapEff'), mask('CapPrm'), mask('CapBnd')]
  const noNewPrivileges = field(/^NoNewPrivs:\s+([01])$/m)
  const seccomp = field(/^Seccomp:\s+([012])$/m)
  if (uid === undefined || effective === undefined || permitted === undefined || bounding === undefined)
    return
  if (noNewPrivileges === undefined || seccomp === undefined) return
  return {
    uid: Number(uid),
    effective: capabilities(effective),
    permitted: capabilities(permitted),
    bounding: capabilities(bounding),
    noNewPrivileges: noNewPrivileges === '1',
    systemCallsFiltered: seccomp === '2',
  }
}

/** Names of the bits of a mask of 16 hexadecimal digits; a bit that has no name yet is told by its number. Pure. */
export function capabilities(mask: string): readonly string[] {
  const bits = BigInt(`0x${mask}`)
  return Array.from({ length: 64 }, (_, bit) => bit)
    .filter((bit) => ((bits >> BigInt(bit)) & 1n) === 1n)
    .map((bit) => `CAP_${CAPABILITIES[bit] ?? bit}`)
}

/** Which unit holds the socket of an inode. The first process counts last: it holds what it hands on. */
export function socketOwners(groups: readonly ProcessGroup[]): ReadonlyMap<string, string> {
  const owners = new Map<string, string>()
  let seen = 0
  for (const { pid, unit } of [...groups].sort((a, b) => b.pid - a.pid)) {
    for (const name of namesIn(`/proc/${pid}/fd`)) {
      if (++seen > MAX_DESCRIPTORS) return owners
      const inode = /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${name}`))?.[1]
      if (inode !== undefined && !owners.has(inode)) owners.set(inode, unit)
    }
  }
  return owners
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
