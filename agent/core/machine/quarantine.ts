/** Why a machine is in quarantine, and what ends it, in words for people. */
import type { Loss, MachineState, QuarantineCode } from './state.ts'

export const REASONS: Readonly<Record<Loss, string>> = {
  state_lost: 'STATE cannot be mounted: its file system or its partition is damaged; it is left as it is',
  state_ambiguous: "there are several STATEs, and it is not beyond doubt which one is this node's",
  disk_too_small: 'the disk has no room for STATE',
  configuration_lost: 'the configuration on STATE is damaged, and so is the copy before it',
}

export const REMEDIES: Readonly<Record<QuarantineCode, string>> = {
  user_data: 'correct the user data, or apply a configuration',
  state_lost:
    'save what is needed from the disk, then install the machine anew; nothing is formatted by itself',
  state_ambiguous: 'detach the disk that is a copy, then reboot; until then the node only tells',
  disk_too_small: 'give the machine a larger disk and start it again; nothing was changed on this one',
  configuration_lost: 'an administrator applies the configuration of this node again',
}

/** Returns the quarantine of a machine that lost something. Without a loss its reasons are still to be found. Pure. */
export function quarantineOf(
  loss: Loss | undefined,
  reason = loss === undefined ? '' : REASONS[loss],
): Extract<MachineState, { kind: 'quarantine' }> {
  if (loss === undefined) return { kind: 'quarantine', code: 'user_data', reasons: [] }
  return { kind: 'quarantine', code: loss, reasons: [reason] }
}
