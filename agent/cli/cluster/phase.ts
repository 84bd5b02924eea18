/** How far a machine is, by what it said on its console. Pure. */

/** In the order in which a machine gets there. `API`: the agent speaks. `certificate`: it has one, and so can be asked. */
export const PHASES = ['power', 'firmware', 'kernel', 'system', 'API', 'certificate'] as const
export type Phase = (typeof PHASES)[number]

export type ConsoleView = {
  readonly phase: Phase
  /** Why the node is in quarantine, in its own words. */
  readonly stuck: string | undefined
  /** The last lines, without sequences for terminals. */
  readonly last: readonly string[]
}

const SIGNS: readonly (readonly [Phase, RegExp])[] = [
  ['firmware', /BdsDxe|UEFI|SeaBIOS/],
  ['kernel', /Linux version|systemd\[1\]|Booting initrd/],
  ['system', /Welcome to Stele/],
  ['API', /stele: Stele \S+ {2}\S+ {2}/],
  ['certificate', /stele: Stele \S+ {2}\S+ {2}running/],
]
const STUCK = /stele: (stuck: .*)/
const SHOWN = 10
// What firmware and systemd print to steer a terminal, and systemd's running star, which overwrites its own line.
const CONTROL =
  /\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-9;?!=]*[A-Za-z]|\x1b[^[\]]|[\x00-\x08\x0b-\x1f\x7f]/g
const STAR = /^M?\[[ *]{6}\]/

/** Reads what a console printed since the machine was turned on. */
export function readConsole(text: string): ConsoleView {
  const lines = text
    .split(/\r?\n/)
    .map((line) => line.replace(CONTROL, '').trimEnd())
    .filter((line) => line !== '' && !STAR.test(line))
  const reached = SIGNS.filter(([, sign]) => lines.some((line) => sign.test(line))).map(([phase]) => phase)
  const last = lines.slice(-SHOWN)
  return { phase: reached.at(-1) ?? 'power', stuck: stuckNow(lines), last }
}

/** What it said last counts: a node that was stuck and was helped says so by another block of lines. */
function stuckNow(lines: readonly string[]): string | undefined {
  const begin = lines.findLastIndex((line) => /stele: Stele /.test(line))
  const reason = lines.slice(Math.max(0, begin)).find((line) => STUCK.test(line))
  return reason === undefined ? undefined : STUCK.exec(reason)?.[1]
}
