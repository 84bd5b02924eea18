/**
 * What a node measured of itself → a verdict for each property. Pure.
 *
 * Invariant: `ok` is said only of what was measured; an absent part is `unknown`, never fine.
 */
import type { ConfinedProcess, GetIntegrityResponse, ListeningSocket, Probe } from '#api'

export type Verdict = 'ok' | 'violated' | 'unknown'
export type PropertyVerdict = {
  readonly property: string
  readonly verdict: Verdict
  readonly detail: string
}
/** What the manifest beside an image says of it. */
export type ImageFacts = { readonly rootHash: string; readonly executables: readonly string[] }

type Part = Exclude<keyof GetIntegrityResponse, 'unknowns'>
type Judged = Omit<PropertyVerdict, 'property'>
type Rule = {
  readonly property: string
  readonly part: Part
  readonly judge: (answer: GetIntegrityResponse) => Judged | undefined
}

/** Errors that prove a refusal by the file system or its device; any other may be that of core's own sandbox. */
const PROOF: Readonly<Record<string, readonly string[]>> = {
  create: ['EROFS'],
  remount: ['EROFS', 'EACCES'],
}
/** Greatest exposure of a unit that strangers reach, in tenths. */
const EXPOSURE_LIMIT = 20
const REACHABLE: readonly string[] = ['stele-gateway.service', 'stele-trust.service']
const CORE = 'stele-core.service'
/** Ports that strangers may reach, and by which unit: the API, trust, and answers of the network's own services (DHCP). */
const PORTS: readonly Pick<ListeningSocket, 'protocol' | 'port' | 'unit'>[] = [
  { protocol: 'tcp', port: 50_000, unit: 'stele-gateway.service' },
  { protocol: 'tcp', port: 50_001, unit: 'stele-trust.service' },
  { protocol: 'udp', port: 68, unit: 'systemd-networkd.service' },
  { protocol: 'udp', port: 546, unit: 'systemd-networkd.service' },
]
/** Kubernetes opens what its own configuration says. */
const KUBERNETES = /^(kubelet|containerd)\.service$|^kubepods/

const RULES: readonly Rule[] = [
  { property: 'root read-only', part: 'mounts', judge: judgeMounts },
  { property: 'root verified', part: 'verity', judge: judgeVerity },
  { property: 'writing refused', part: 'probes', judge: ({ probes }) => judgeProbes(probes, 'create') },
  { property: 'remount refused', part: 'probes', judge: ({ probes }) => judgeProbes(probes, 'remount') },
  { property: 'kernel', part: 'kernel', judge: judgeKernel },
  { property: 'shells and interpreters', part: 'programs', judge: judgeInterpreters },
  { property: 'package managers', part: 'programs', judge: judgePackageManagers },
  { property: 'setuid files', part: 'programs', judge: ({ programs }) => programs && none(programs.setuid) },
  { property: 'capabilities', part: 'processes', judge: judgeProcesses },
  { property: 'exposure', part: 'exposures', judge: judgeExposures },
  { property: 'open ports', part: 'sockets', judge: judgeSockets },
]

/** A verdict for each property, in a fixed order; with the facts of an image also whether the node is that image. */
export function judgeIntegrity(answer: GetIntegrityResponse, image?: ImageFacts): readonly PropertyVerdict[] {
  const rules = image === undefined ? RULES : [...RULES, ...imageRules(image)]
  return rules.map(({ property, part, judge }) => {
    const reason = answer.unknowns.find((each) => each.part === part)?.reason
    const judged = reason === undefined ? judge(answer) : unknown(reason)
    return { property, ...(judged ?? unknown('the node did not tell')) }
  })
}

function imageRules(image: ImageFacts): readonly Rule[] {
  return [
    {
      property: 'root hash of the image',
      part: 'verity',
      judge: ({ verity }) =>
        verity &&
        verdict(
          verity.rootHash === image.rootHash,
          verity.rootHash === image.rootHash
            ? image.rootHash
            : `the node has ${verity.rootHash}, the manifest ${image.rootHash}`,
        ),
    },
    {
      property: 'programs of the image',
      part: 'programs',
      judge: ({ programs }) => {
        if (programs === undefined) return undefined
        const more = programs.executables.filter((path) => !image.executables.includes(path))
        const less = image.executables.filter((path) => !programs.executables.includes(path))
        if (more.length + less.length === 0) return verdict(true, `${image.executables.length} programs`)
        return verdict(
          false,
          [...more.map((path) => `+${path}`), ...less.map((path) => `-${path}`)].join(' '),
        )
      },
    },
  ]
}

function judgeMounts({ mounts }: GetIntegrityResponse): Judged | undefined {
  if (mounts.length === 0) return undefined
  return verdict(
    mounts.every((mount) => mount.fileSystemReadOnly && mount.mountReadOnly),
    mounts
      .map(
        (mount) => `${mount.path} ${mount.type} on ${mount.source} ${mount.fileSystemReadOnly ? 'ro' : 'rw'}`,
      )
      .join(', '),
  )
}

function judgeVerity({ verity }: GetIntegrityResponse): Judged | undefined {
  return (
    verity &&
    verdict(verity.intact, `${verity.algorithm} ${verity.rootHash}${verity.intact ? '' : ', corrupt'}`)
  )
}

function judgeProbes(probes: readonly Probe[], action: string): Judged | undefined {
  const made = probes.filter((probe) => probe.action === action)
  if (made.length === 0) return undefined
  const detail = made.map(({ path, error }) => `${path} ${error === '' ? 'succeeded' : error}`).join(', ')
  if (made.some(({ error }) => error === '')) return verdict(false, detail)
  const isProven = made.every(({ error }) => PROOF[action]?.includes(error) === true)
  return isProven
    ? verdict(true, detail)
    : unknown(`refused, but maybe by the sandbox of core alone: ${detail}`)
}

function judgeKernel({ kernel }: GetIntegrityResponse): Judged | undefined {
  if (kernel === undefined) return undefined
  const { lockdown, modulesSigned, secureBoot } = kernel
  const isLocked = lockdown === 'integrity' || lockdown === 'confidentiality'
  const boot = secureBoot === undefined ? 'absent' : secureBoot ? 'on' : 'off'
  return verdict(
    isLocked && modulesSigned,
    `lockdown ${lockdown === '' ? 'absent' : lockdown}, modules ${modulesSigned ? 'signed' : 'unsigned'}, Secure Boot ${boot}`,
  )
}

function judgeInterpreters({ programs }: GetIntegrityResponse): Judged | undefined {
  return programs && none([...programs.interpreters, ...programs.scripts])
}

function judgePackageManagers({ programs }: GetIntegrityResponse): Judged | undefined {
  return programs && none(programs.packageManagers)
}

/** No process of ours but core has a capability, and none of ours can gain rights. */
function judgeProcesses({ processes }: GetIntegrityResponse): Judged | undefined {
  const others = processes.filter(({ unit }) => unit !== CORE)
  if (others.length === 0) return undefined
  const loose = processes.filter((one) => !one.noNewPrivileges || !one.systemCallsFiltered)
  const able = others.filter((one) => one.uid === 0 || rightsOf(one).length > 0)
  const wrong = [
    ...able.map((one) => `${one.unit} uid ${one.uid} ${rightsOf(one).join(' ')}`.trim()),
    ...loose.map(({ unit }) => `${unit} may gain rights or call anything`),
  ]
  const names = [...new Set(others.map(({ unit }) => unit))].join(', ')
  return verdict(wrong.length === 0, wrong.length === 0 ? `none in ${names}` : wrong.join(', '))
}

function rightsOf({ effective, permitted, bounding }: ConfinedProcess): readonly string[] {
  return [...new Set([...effective, ...permitted, ...bounding])]
}

function judgeExposures({ exposures, processes }: GetIntegrityResponse): Judged | undefined {
  // Without the processes nobody knows whether trust runs here, and its exposure could be missing unseen.
  if (processes.length === 0) return undefined
  const running = REACHABLE.filter((unit) => processes.some((one) => one.unit === unit))
  const known = exposures.filter(({ unit }) => REACHABLE.includes(unit))
  if (running.some((unit) => !known.some((one) => one.unit === unit)) || known.length === 0) return undefined
  return verdict(
    known.every(({ tenths }) => tenths <= EXPOSURE_LIMIT),
    known.map(({ unit, tenths }) => `${unit} ${(tenths / 10).toFixed(1)}`).join(', '),
  )
}

function judgeSockets({ sockets }: GetIntegrityResponse): Judged | undefined {
  const open = sockets.filter(({ address }) => !/^127\.|^::1$/.test(address))
  if (open.length === 0) return undefined
  const strange = open.filter((socket) => !isExpected(socket))
  const shown = strange.length === 0 ? open : strange
  return verdict(
    strange.length === 0,
    shown.map(({ protocol, port, unit }) => `${protocol} ${port} ${unit}`.trim()).join(', '),
  )
}

function isExpected({ protocol, port, unit }: ListeningSocket): boolean {
  return (
    KUBERNETES.test(unit) ||
    PORTS.some((one) => protocol.startsWith(one.protocol) && one.port === port && one.unit === unit)
  )
}

function none(found: readonly string[]): Judged {
  return verdict(found.length === 0, found.length === 0 ? 'none' : found.join(' '))
}

function verdict(isFine: boolean, detail: string): Judged {
  return { verdict: isFine ? 'ok' : 'violated', detail }
}

function unknown(detail: string): Judged {
  return { verdict: 'unknown', detail }
}
