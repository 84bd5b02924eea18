/**
 * Profile and what was seen on the disk → the steps of a build, as data. Pure: the same arguments give the same plan, with the same keys.
 *
 * A step's key is the hash of everything that decides its output: its own recipe, its parameters, the files it reads and the keys of the steps
 * before it. A step whose key is known is not run again.
 */
import { createHash } from 'node:crypto'
import type { Contents, Output, Profile } from './profile.ts'

export const STEP_NAMES = [
  'go-tools',
  'packages',
  'tools',
  'runtime',
  'uml-tools',
  'uml-kernel',
  'bundles',
  'root',
  'inspect',
  'initrd',
  'filesystem',
  'verity',
  'uki',
  'disk',
  'manifest',
] as const
export type StepName = (typeof STEP_NAMES)[number]

/** What was read before planning: hashes of files by their path in the repository, and the facts of the host. */
export type Observed = {
  readonly sources: readonly string[]
  readonly version: string
  /** Groups of files that steps read, each as path → sha256. */
  readonly files: Readonly<Record<FileGroup, Readonly<Record<string, string>>>>
  /** SHA-256 of each step's recipe. */
  readonly recipes: Readonly<Record<StepName, string>>
  /** SHA-256 over the public signing key, when images are signed; its folder is read by the step alone. */
  readonly signer: string | undefined
}

export const FILE_GROUPS = ['runtime', 'bundles', 'root', 'node', 'uml'] as const
export type FileGroup = (typeof FILE_GROUPS)[number]

export type Step = {
  readonly name: StepName
  readonly after: readonly StepName[]
  readonly parameters: Readonly<Record<string, unknown>>
  readonly files: Readonly<Record<string, string>>
  readonly key: string
}

export type Plan = {
  readonly profile: string
  readonly version: string
  readonly outputs: readonly Output[]
  readonly steps: readonly Step[]
}

/** What every output is made of. */
const ALWAYS: readonly StepName[] = ['packages', 'runtime', 'bundles', 'root', 'inspect', 'filesystem']
const DISK: readonly StepName[] = ['initrd', 'verity', 'uki', 'disk']

/** What each output is made of, beside the root and its file system. A further output is a row here, and its steps. */
const MADE_OF: Readonly<Record<Output, readonly StepName[]>> = {
  raw: DISK,
  qcow2: DISK,
  uml: ['uml-kernel'],
}

/** Packages of the tools tree; ovmf and qemu boot the result in tests. */
const TOOLS = [
  ...[
    'systemd',
    'systemd-repart',
    'systemd-ukify',
    'systemd-boot-efi',
    'systemd-boot-tools',
    'libcryptsetup12',
  ],
  ...['erofs-utils', 'dosfstools', 'mtools', 'e2fsprogs', 'kmod', 'binutils', 'xz-utils', 'qemu-utils'],
  ...['python3-pefile', 'python3-cryptography', 'sbsigntool', 'openssl', 'ca-certificates'],
  ...['qemu-system-x86', 'ovmf', 'python3-virt-firmware'],
] as const

/**
 * Packages of the tools tree that builds containerd and runc: the longest step, so it must not wait for what it does not use. base-files is where /lib64
 * is, with the loader of programs.
 */
const GO_TOOLS = ['base-files', 'golang-go', 'gcc', 'libc6-dev', 'libseccomp-dev', 'pkg-config'] as const

/** Packages of the tools tree that builds the kernel of User-Mode Linux; its source is one of them, so that it is that of the suite. */
const UML_TOOLS = ['linux-source', 'gcc', 'libc6-dev', 'make', 'flex', 'bison', 'bc', 'perl'] as const

type Draft = Omit<Step, 'key' | 'files'> & { readonly groups: readonly FileGroup[] }

/** The steps of a build, each after those it needs: those that the profile's outputs are made of. */
export function plan(profile: Profile, contents: Contents, observed: Observed): Plan {
  const keys = new Map<StepName, string>()
  const steps = needed(drafts(profile, contents, observed)).map(({ groups, ...draft }): Step => {
    const files = Object.assign({}, ...groups.map((group) => observed.files[group])) as Step['files'] // merged maps of one type
    const before = draft.after.map((name) => keys.get(name))
    const key = hash({ ...draft, files, before, recipe: observed.recipes[draft.name] })
    keys.set(draft.name, key)
    return { ...draft, files, key }
  })
  return { profile: profile.name, version: observed.version, outputs: profile.outputs, steps }
}

/** The drafts that the manifest, which is after everything that is wanted, comes after, and those before them. */
function needed(all: readonly Draft[]): readonly Draft[] {
  const wanted = new Set<StepName>(['manifest'])
  for (const draft of all.toReversed()) {
    if (wanted.has(draft.name)) for (const name of draft.after) wanted.add(name)
  }
  return all.filter((draft) => wanted.has(draft.name))
}

function drafts(profile: Profile, contents: Contents, observed: Observed): readonly Draft[] {
  const { epoch, seed, suite, partitions } = profile
  const { version } = observed
  const debian = { suite, sources: observed.sources }
  const { processes } = contents
  return [
    { name: 'go-tools', after: [], groups: [], parameters: { ...debian, packages: GO_TOOLS } },
    {
      name: 'packages',
      after: [],
      groups: [],
      parameters: { ...debian, packages: contents.packages, epoch },
    },
    { name: 'tools', after: [], groups: [], parameters: { ...debian, packages: TOOLS } },
    { name: 'runtime', after: ['go-tools'], groups: ['runtime'], parameters: {} },
    { name: 'uml-tools', after: [], groups: [], parameters: { ...debian, packages: UML_TOOLS } },
    { name: 'uml-kernel', after: ['uml-tools'], groups: ['uml'], parameters: { epoch } },
    { name: 'bundles', after: [], groups: ['bundles'], parameters: { processes } },
    {
      name: 'root',
      after: ['tools', 'packages', 'runtime', 'bundles'],
      groups: ['root', 'node'],
      parameters: { contents, epoch, version },
    },
    {
      name: 'inspect',
      after: ['tools', 'root'],
      groups: [],
      parameters: { budgets: profile.budgets, processes },
    },
    {
      name: 'initrd',
      after: ['tools', 'packages', 'root'],
      groups: [],
      parameters: { ...contents.initrd, epoch },
    },
    {
      name: 'filesystem',
      after: ['tools', 'root', 'inspect'],
      groups: [],
      parameters: { ...profile.compression, epoch, seed, limit: profile.budgets.rootBytes },
    },
    {
      name: 'verity',
      after: ['tools', 'filesystem'],
      groups: [],
      parameters: { partitions, epoch, seed, version },
    },
    {
      name: 'uki',
      after: ['tools', 'root', 'initrd', 'verity'],
      groups: [],
      parameters: {
        commandLine: profile.commandLine,
        epoch,
        version,
        limit: profile.budgets.ukiBytes,
        signer: observed.signer ?? null,
      },
    },
    {
      name: 'disk',
      after: ['tools', 'verity', 'uki'],
      groups: [],
      parameters: { partitions, epoch, seed, version, outputs: profile.outputs },
    },
    {
      name: 'manifest',
      after: [...new Set([...ALWAYS, ...profile.outputs.flatMap((output) => MADE_OF[output])])],
      groups: ['node'],
      parameters: {
        profile: profile.name,
        version,
        epoch,
        outputs: profile.outputs,
        commandLine: profile.commandLine,
      },
    },
  ]
}

/** SHA-256 of a value, written with sorted keys. */
export function hash(value: unknown): string {
  return createHash('sha256').update(canonical(value)).digest('hex')
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
    return `{${entries.map(([name, part]) => `${JSON.stringify(name)}:${canonical(part)}`).join(',')}}`
  }
  return JSON.stringify(value) ?? 'null'
}
