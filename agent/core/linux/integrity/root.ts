/** What the root is on and what the kernel verifies it with. Parsers are pure. */
import type { IntegrityReport, KernelProtection, RootMount, VerityRoot } from '../../ports.ts'
import { LinuxFault } from '../fault.ts'
import type { Programs } from '../run.ts'
import { mountOf, type MountedAt } from '../state-disk.ts'

const DEADLINE_MS = 10_000
const PATHS: readonly string[] = ['/', '/usr']

/** The mounts that hold / and /usr, from /proc/PID/mountinfo. Throws LinuxFault `host_unreadable` when the text tells of none. Pure. */
export function rootMounts(mountinfo: string): readonly RootMount[] {
  const found = PATHS.map((path) => mountOf(mountinfo, path)).filter((mount) => mount !== undefined)
  if (found.length === 0) throw new LinuxFault('host_unreadable', 'the kernel tells of no mount at /')
  return found
    .filter((mount, index) => found.findIndex((other) => isSame(other, mount)) === index)
    .map(toMount)
}

function isSame(one: MountedAt, other: MountedAt): boolean {
  return one.mountPoint === other.mountPoint
}

function toMount({ mountPoint, type, source, options, fileSystemOptions }: MountedAt): RootMount {
  return {
    ...{ path: mountPoint, type, source },
    // The file system is one for all mounts of it, so its word counts in every namespace.
    fileSystemReadOnly: fileSystemOptions.includes('ro'),
    mountReadOnly: options.includes('ro'),
  }
}

/**
 * What the kernel verifies the root with. The kernel's own table of the mapped device is asked for (dmsetup(8)), not the command line, which only
 * says what was wanted. Throws LinuxFault `host_unreadable` where the root is on no verified device, or as `Programs.run` does.
 */
export async function verityRoot(
  options: {
    readonly programs: Programs
    readonly mountinfo: string
    readonly textOf: (path: string) => string
  },
  signal: AbortSignal,
): Promise<VerityRoot> {
  const { programs, mountinfo, textOf } = options
  const device = mountOf(mountinfo, '/')?.device ?? ''
  const name = textOf(`/sys/dev/block/${device}/dm/name`).trim()
  if (name === '')
    throw new LinuxFault('host_unreadable', 'the root is on no mapped device, so nothing verifies it')
  const ask = (what: string) => programs.run('dmsetup', [what, name], { deadlineMs: DEADLINE_MS, signal })
  const [table, status] = await Promise.all([ask('table'), ask('status')])
  return { name, ...parseVerity(table, status) }
}

/**
 * Table and status of a verity target: `START LENGTH verity VERSION DATA HASH BLOCK BLOCK BLOCKS START ALGORITHM DIGEST SALT …` and
 * `START LENGTH verity V` (Documentation/admin-guide/device-mapper/verity.rst). Throws LinuxFault `host_unreadable` for anything else. Pure.
 */
export function parseVerity(table: string, status: string): Omit<VerityRoot, 'name'> {
  const [, algorithm, rootHash] =
    /^\d+ \d+ verity \d+ \S+ \S+ \d+ \d+ \d+ \d+ ([\w-]{1,64}) ([0-9a-f]{32,256}) \S+(?: .*)?\n?$/.exec(
      table,
    ) ?? []
  const [, state] = /^\d+ \d+ verity ([VC])(?:\s.*)?$/s.exec(status) ?? []
  if (algorithm === undefined || rootHash === undefined || state === undefined)
    throw new LinuxFault('host_unreadable', 'the mapped device of the root is no verity target')
  return { algorithm, rootHash, intact: state === 'V' }
}

type KernelTexts = {
  /** Text of /sys/kernel/security/lockdown. */
  readonly lockdown: string
  /** Text of /sys/module/module/parameters/sig_enforce. */
  readonly signatures: string
  /** The variable SecureBoot: four bytes of attributes and its value (UEFI 2.10, 3.3); undefined without one. */
  readonly secureBoot: Buffer | undefined
}

/** How the kernel protects itself. Throws LinuxFault `host_unreadable` when it does not say. Pure. */
export function parseKernel({ lockdown, signatures, secureBoot }: KernelTexts): KernelProtection {
  const [, mode = ''] = /\[(none|integrity|confidentiality)\]/.exec(lockdown) ?? []
  const signed = /^([YN])\s*$/.exec(signatures)?.[1]
  if (signed === undefined)
    throw new LinuxFault('host_unreadable', 'the kernel does not say whether modules must be signed')
  return {
    lockdown: mode,
    modulesSigned: signed === 'Y',
    secureBoot: secureBoot?.length === 5 ? secureBoot[4] === 1 : undefined,
  }
}

/** Exposures of Stele's units in what `systemd-analyze security --json=short` prints. Throws LinuxFault `program_failed`. Pure. */
export function parseExposures(text: string): NonNullable<IntegrityReport['exposures']> {
  const rows = listOf(text)
  const found = rows.flatMap((row) => {
    if (typeof row !== 'object' || row === null || !('unit' in row) || !('exposure' in row)) return []
    const { unit, exposure } = row
    if (typeof unit !== 'string' || !/^stele-[\w@.-]{1,100}\.service$/.test(unit)) return []
    const [, whole, tenth] = /^(\d{1,2})\.(\d)$/.exec(String(exposure)) ?? []
    return whole === undefined || tenth === undefined
      ? []
      : [{ unit, tenths: Number(whole) * 10 + Number(tenth) }]
  })
  if (found.length === 0) throw new LinuxFault('program_failed', 'systemd-analyze told of no unit of Stele')
  return found.sort((a, b) => (a.unit < b.unit ? -1 : 1))
}

function listOf(text: string): readonly unknown[] {
  try {
    const parsed: unknown = JSON.parse(text)
    if (Array.isArray(parsed)) return parsed
  } catch {
    // The same answer as for JSON that is no list.
  }
  throw new LinuxFault('program_failed', 'systemd-analyze did not print a list')
}
