/**
 * What core remembers of the machine and the disk that it runs on, and what it says and does when they are others than they were.
 *
 * Invariant: nothing is wiped and no configuration is given up for it; what is doubtful is told.
 */
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '#kit/log'
import { REASONS } from '../machine/quarantine.ts'
import type { Finding, PlatformLoss } from '../ports.ts'
import { writeAtomic } from '../store/atomic.ts'
import { stateFileSystem } from '../store/file-system.ts'
import { JsonFile } from '../store/json-file.ts'
import { noRoom } from './disk-room.ts'
import { kernelArguments } from './kernel-argument.ts'
import {
  decideMachine,
  hardwareSchema,
  setMachineId,
  type Hardware,
  type MachineSeen,
} from './machine-identity.ts'
import type { Programs } from './run.ts'
import { isStateLost } from './state-disk.ts'
import { judgeDisks, observeDisks, type DisksSeen, type DiskVerdict } from './system-disk.ts'

export type HardwareFindings = Readonly<Record<'machine_changed' | 'disk_copied', Finding | undefined>>
export type HardwareSeen = {
  readonly machineId: string
  readonly findings: HardwareFindings
  readonly loss: PlatformLoss | undefined
}

const JOURNAL_MS = 30_000
const DEFINITIONS = '/usr/lib/repart.d'
const MACHINE_CHANGED: Finding = {
  message: 'the disk was set up in another machine: the UUID of the firmware is not the one of that time',
  remedy: 'a copied disk is installed anew, as both have one key; a disk that was moved works on',
}

/** Looks at the machine, keeps on STATE what must be kept, and puts its identity in force. A STATE that cannot be written is no reason to fail. */
export async function recogniseHardware(options: {
  readonly directory: string
  readonly commandLine: string
  readonly programs: Programs
  readonly log: Log
  readonly signal: AbortSignal
}): Promise<HardwareSeen> {
  const { directory, commandLine, log } = options
  const file = new JsonFile(stateFileSystem, join(directory, 'boot', 'hardware.json'), hardwareSchema)
  const stored = file.read()
  const known = 'value' in stored ? stored.value : undefined
  const inForce = textOf('/etc/machine-id')
  const machine = decideMachine(known, machineSeen(inForce, commandLine), () =>
    randomBytes(16).toString('hex'),
  )
  const mountinfo = textOf('/proc/self/mountinfo')
  const disks = observeDisks({ mountinfo, directory })
  const verdict = judgeDisks(disks, known?.disk)
  try {
    keep(directory, file, { known, record: { ...machine.record, ...diskToKeep(verdict, disks) } })
    if (machine.machineId !== inForce) await enforce(machine.machineId, options)
  } catch (error) {
    options.signal.throwIfAborted()
    log.error('the identity of the machine cannot be kept', { error })
  }
  return {
    // What is in force, also when it could not be changed.
    machineId: textOf('/etc/machine-id'),
    findings: {
      machine_changed: machine.isChanged ? MACHINE_CHANGED : undefined,
      disk_copied: verdict.kind === 'told' ? verdict : undefined,
    },
    loss: isStateLost(mountinfo, directory) ? lossOf(disks) : ambiguityOf(verdict),
  }
}

function machineSeen(machineId: string, commandLine: string): MachineSeen {
  const named = kernelArguments(commandLine, 'systemd.machine_id').at(-1) ?? ''
  return {
    firmware: textOf('/sys/class/dmi/id/product_uuid'),
    machineId,
    // The other value that systemd knows is `firmware`.
    isNamed: /^[0-9a-f-]{32,36}$/i.test(named),
  }
}

/** Only a disk that is beyond doubt is remembered. */
function diskToKeep(verdict: DiskVerdict, seen: DisksSeen): Pick<Hardware, 'disk'> {
  const disk = seen.disks.get(seen.stateDisk ?? '')?.id
  return verdict.kind === 'alone' && disk !== undefined ? { disk } : {}
}

async function enforce(
  machineId: string,
  { programs, signal }: { readonly programs: Programs; readonly signal: AbortSignal },
): Promise<void> {
  setMachineId(machineId)
  // The journal has a folder for each identity: what is written from now on is then found under the one in force.
  await programs.run('systemctl', ['restart', 'systemd-journald.service'], { deadlineMs: JOURNAL_MS, signal })
}

function ambiguityOf(verdict: DiskVerdict): PlatformLoss | undefined {
  return verdict.kind === 'ambiguous' ? { code: 'state_ambiguous', reason: verdict.reason } : undefined
}

/** The plain text is for stele-machine-id.service, which puts it in force before anything of the next boot depends on it. */
function keep(
  directory: string,
  file: JsonFile<Hardware>,
  { known, record }: { readonly known: Hardware | undefined; readonly record: Hardware },
): void {
  if (JSON.stringify(known) !== JSON.stringify(record)) file.write(record)
  const plain = join(directory, 'boot', 'machine-id')
  const text = record.machineId === undefined ? undefined : `${record.machineId}\n`
  const present = stateFileSystem.read(plain)
  if (text === undefined) {
    if (present !== undefined) stateFileSystem.remove(plain)
  } else if (present === 'damaged' || present?.toString() !== text) writeAtomic(stateFileSystem, plain, text)
}

/** Why memory stands in place of STATE. */
function lossOf(seen: DisksSeen): PlatformLoss {
  const reason = noRoom(seen, definitions())
  if (reason !== undefined) return { code: 'disk_too_small', reason }
  return { code: 'state_lost', reason: REASONS.state_lost }
}

function definitions(): readonly string[] {
  try {
    return readdirSync(DEFINITIONS)
      .filter((name) => name.endsWith('.conf'))
      .sort()
      .map((name) => readFileSync(join(DEFINITIONS, name), 'utf8'))
  } catch {
    // Not our image: then nothing can be said of the room that it needs.
    return []
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return ''
  }
}
