/** Where the machine is in its life, and how it may move. Pure. */

export type StepName =
  | 'revert-trial'
  | 'read-user-data'
  | 'apply-host'
  | 'obtain-identity'
  | 'publish-identity'
  | 'start-trust'
  | 'enter'

/** What of STATE is gone, or may be another's, so that core must not go on as if the node were new, or as if it were that one. */
export type Loss = 'state_lost' | 'state_ambiguous' | 'disk_too_small' | 'configuration_lost'
/** `user_data`: absent or unusable. */
export type QuarantineCode = 'user_data' | Loss

export type MachineState =
  /** `step` is what the boot sequence does now; undefined while it waits. */
  | { readonly kind: 'booting'; readonly step: StepName | undefined }
  | { readonly kind: 'running' }
  /** Nothing to go on with: `reasons` say why, with positions and without values. */
  | {
      readonly kind: 'quarantine'
      readonly code: QuarantineCode
      readonly reasons: readonly string[]
    }
  | { readonly kind: 'rebooting'; readonly operationId: string; readonly forced: boolean }
  | { readonly kind: 'stopping'; readonly operationId: string; readonly forced: boolean }

/** From → to. What is not here does not happen; an orderly stop may become a forced one, and nothing ends it but the end. */
const ALLOWED: Readonly<Record<MachineState['kind'], readonly MachineState['kind'][]>> = {
  booting: ['booting', 'running', 'quarantine', 'rebooting', 'stopping'],
  running: ['booting', 'rebooting', 'stopping'],
  quarantine: ['booting', 'quarantine', 'running', 'rebooting', 'stopping'],
  rebooting: ['rebooting'],
  stopping: ['stopping'],
}

/** Whether the machine may go from one state to another. */
export function mayEnter(from: MachineState, to: MachineState): boolean {
  if (!ALLOWED[from.kind].includes(to.kind)) return false
  if ('forced' in from && 'forced' in to) return !from.forced && to.forced
  return true
}

/** The state as a person says it after "the machine is". */
export function inWords(state: MachineState): string {
  return state.kind === 'quarantine' ? 'in quarantine' : state.kind
}

/** Whether the machine is on its way down, so that nothing new may begin. */
export function isGoingDown(state: MachineState): boolean {
  return state.kind === 'rebooting' || state.kind === 'stopping'
}
