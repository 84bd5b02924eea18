/** Whether the booted node is what its image says, asked of the kernel and of systemd at the time of the call. */
import { readFileSync } from 'node:fs'
import { Fault } from '#kit/fault'
import { unlessAborted } from '#kit/lifetime'
import type { IntegrityPart, IntegrityPort, IntegrityReport, Unreadable } from '../../ports.ts'
import { textOf } from '../../process-use.ts'
import type { Programs } from '../run.ts'
import { mountOf } from '../state-disk.ts'
import { probeCreate, probeRemount } from './probe.ts'
import { confinedProcesses, processGroups, socketOwners } from './process.ts'
import { programsOn } from './program.ts'
import { parseExposures, parseKernel, rootMounts, verityRoot } from './root.ts'
import { parseSockets, PROTOCOLS } from './socket.ts'

/** The root as the first process sees it: core's own view has its sandbox over it. */
const ROOT = '/proc/1/root'
const MUST_REFUSE: readonly string[] = ['/', '/usr', '/etc']
const SECURE_BOOT = '/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c'
const DEADLINE_MS = 60_000

type Answer = Awaited<ReturnType<IntegrityPort['measure']>>
type Part<Name extends IntegrityPart> = NonNullable<IntegrityReport[Name]>
type Readers = {
  readonly [Name in IntegrityPart]-?: (signal: AbortSignal) => Part<Name> | Promise<Part<Name>>
}

/** Returns the port. It measures once at a time, at most for a minute, and everyone who asks meanwhile gets that answer. */
export function linuxIntegrity({ programs }: { readonly programs: Programs }): IntegrityPort {
  let running: Promise<Answer> | undefined
  return {
    measure: ({ signal }) => {
      // Not the signal of whoever came first: the answer is for all who wait.
      running ??= readAll(readers(programs), AbortSignal.timeout(DEADLINE_MS)).finally(() => {
        running = undefined
      })
      return unlessAborted(running, signal)
    },
  }
}

/** Reads each part; one that cannot be read does not keep the others from being told. */
export async function readAll(parts: Readers, signal: AbortSignal): Promise<Answer> {
  const unknowns: Unreadable[] = []
  const read = async <Name extends IntegrityPart>(
    part: Name,
  ): Promise<{ readonly [N in Name]?: Part<N> }> => {
    try {
      // The key is the one whose reader made the value, which a computed key hides from the compiler.
      return { [part]: await parts[part](signal) } as { readonly [N in Name]?: Part<N> }
    } catch (error) {
      unknowns.push({ part, reason: reasonOf(error) })
      return {}
    }
  }
  const found: readonly IntegrityReport[] = await Promise.all([
    ...[read('mounts'), read('verity'), read('probes'), read('kernel')],
    ...[read('programs'), read('processes'), read('sockets'), read('exposures')],
  ])
  const report = found.reduce((all, one) => ({ ...all, ...one }), {})
  return { ...report, unknowns: unknowns.sort((a, b) => (a.part < b.part ? -1 : 1)) }
}

function readers(programs: Programs): Readers {
  const mountinfo = () => readFileSync('/proc/1/mountinfo', 'utf8')
  return {
    mounts: () => rootMounts(mountinfo()),
    verity: (signal) => verityRoot({ programs, mountinfo: mountinfo(), textOf }, signal),
    probes: () => {
      const isReadOnly = mountOf(mountinfo(), '/')?.fileSystemOptions.includes('ro') === true
      return [...MUST_REFUSE.map((path) => probeCreate(path, ROOT)), probeRemount(isReadOnly)]
    },
    kernel: () =>
      parseKernel({
        lockdown: textOf('/sys/kernel/security/lockdown'),
        signatures: textOf('/sys/module/module/parameters/sig_enforce'),
        secureBoot: bytesOf(SECURE_BOOT),
      }),
    programs: (signal) => programsOn(ROOT, { runtime: process.execPath, signal }),
    processes: () => confinedProcesses(processGroups()),
    sockets: () => listening(),
    exposures: async (signal) =>
      parseExposures(
        await programs.run('systemd-analyze', ['security', '--no-pager', '--json=short'], {
          deadlineMs: DEADLINE_MS,
          signal,
        }),
      ),
  }
}

function listening(): Part<'sockets'> {
  const owners = socketOwners(processGroups())
  return PROTOCOLS.flatMap((protocol) =>
    parseSockets(protocol, readFileSync(`/proc/net/${protocol}`, 'utf8'))
      .map(({ address, port, inode }) => ({ protocol, address, port, unit: owners.get(inode) ?? '' }))
      .sort((a, b) => a.port - b.port),
  )
}

function bytesOf(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch {
    return undefined
  }
}

/** Our own sentences as they are; of anything else its code alone. */
function reasonOf(error: unknown): string {
  if (error instanceof Fault) return error.message
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code
  return error instanceof Error ? error.name : 'unknown failure'
}
