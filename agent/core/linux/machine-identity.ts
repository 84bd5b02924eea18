/**
 * Which machine this is: the identity that machine-id(5) is about, and whether the disk is still in the machine it was set up in.
 *
 * Invariants: the identity is the firmware's where the firmware has one, else one that STATE keeps from the first boot on; two machines never share
 * one because their vendor left a constant in the firmware; what was recorded first stays recorded, so that a copy is told at every boot.
 */
import { writeFileSync } from 'node:fs'
import { z } from 'zod'

export const hardwareSchema = z.strictObject({
  /** The firmware's UUID when this disk was set up; empty when it had none that is one machine's. */
  firmware: z.string(),
  /** The identity that STATE keeps, because the firmware has none. */
  machineId: z
    .string()
    .regex(/^[0-9a-f]{32}$/)
    .exactOptional(),
  /** The disk that STATE was last seen on alone. */
  disk: z.string().exactOptional(),
})
export type Hardware = z.infer<typeof hardwareSchema>

/**
 * UUIDs that vendors left in the firmware of many machines, in either byte order: AMI's and Insyde's templates, counted digits, and Dell's for a
 * board without a service tag.
 */
const CONSTANTS: ReadonlySet<string> = new Set([
  '03000200-0400-0500-0006-000700080009',
  '00020003-0004-0005-0006-000700080009',
  '12345678-1234-5678-90ab-cddeefaabbcc',
  '78563412-3412-7856-90ab-cddeefaabbcc',
  '01234567-8910-1112-1314-151617181920',
  '67452301-1089-1211-1314-151617181920',
  '12345678-1234-1234-1234-123456789abc',
  '4c4c4544-0000-2010-8020-80c04f202020',
])
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Returns the UUID of the firmware (SMBIOS 3.7, 7.2.1) in lower case, or undefined for one that does not name a single machine: absent, not
 * settable (all ones), not present (all zeros), made of one or two digits, or a constant of a vendor. Pure.
 */
export function firmwareUuid(text: string): string | undefined {
  const uuid = text.trim().toLowerCase()
  if (!UUID.test(uuid) || CONSTANTS.has(uuid)) return undefined
  return new Set(uuid.replaceAll('-', '')).size <= 2 ? undefined : uuid
}

export type MachineSeen = {
  /** What the firmware tells, unchecked; empty when it tells nothing. */
  readonly firmware: string
  /** What /etc/machine-id holds in this boot: 32 hexadecimal digits. */
  readonly machineId: string
  /** Whether the kernel argument `systemd.machine_id` gave it: then it is its owner's business. */
  readonly isNamed: boolean
}
export type MachineVerdict = {
  readonly record: Hardware
  /** What /etc/machine-id must hold from now on. */
  readonly machineId: string
  /** Whether this is another machine than the one the disk was set up in. */
  readonly isChanged: boolean
}

/** Decides by what STATE recorded, undefined at the first boot. `fresh` makes an identity that nobody has. Pure but for it. */
export function decideMachine(
  known: Hardware | undefined,
  seen: MachineSeen,
  fresh: () => string,
): MachineVerdict {
  const firmware = firmwareUuid(seen.firmware)
  const kept = firmware === undefined && !seen.isNamed ? keptId(known, seen, fresh) : undefined
  const record = {
    firmware: known === undefined ? (firmware ?? '') : known.firmware,
    ...(kept === undefined ? {} : { machineId: kept }),
    ...(known?.disk === undefined ? {} : { disk: known.disk }),
  }
  return {
    record,
    machineId: kept ?? ownId(known, seen, firmware),
    isChanged: record.firmware !== (firmware ?? ''),
  }
}

/** The identity in force, unless it is one that STATE kept for a machine without a UUID and this one has a UUID. */
function ownId(known: Hardware | undefined, seen: MachineSeen, firmware: string | undefined): string {
  const isForeign = known?.machineId === seen.machineId && !seen.isNamed
  return isForeign && firmware !== undefined ? firmware.replaceAll('-', '') : seen.machineId
}

function keptId(known: Hardware | undefined, seen: MachineSeen, fresh: () => string): string {
  if (known?.machineId !== undefined) return known.machineId
  // systemd takes the firmware's UUID as it is, a constant included; without any, it made up one for this boot that serves for all.
  const isConstant = seen.firmware.trim().toLowerCase().replaceAll('-', '') === seen.machineId
  return isConstant || !/^[0-9a-f]{32}$/.test(seen.machineId) ? fresh() : seen.machineId
}

/**
 * Puts an identity in force for programs that start from now on. On a read-only root systemd keeps it in /run/machine-id, and mounts that file over
 * /etc/machine-id (machine-id(5)): it is written where it is, so that the mount shows it. Throws what the file system throws.
 */
export function setMachineId(id: string, path = '/run/machine-id'): void {
  writeFileSync(path, `${id}\n`, { flag: 'r+' })
}
