/** `images build|clean`: argv and environment are read here, and nowhere else. Exit codes: 0 done, 1 failed, 2 not here or not so. */
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Command, CommanderError, Option } from 'commander'
import { Cache } from './cache.ts'
import { EXECUTORS } from './executors.ts'
import { ImageFault } from './fault.ts'
import { startHeartbeat } from './heartbeat.ts'
import { observe } from './observe.ts'
import { plan, type Plan, type StepName } from './plan.ts'
import { parseEpoch, readProfile, type Output } from './profile.ts'
import { createProgress } from './progress.ts'
import { publish, requireOut } from './publish.ts'
import { run } from './run.ts'
import { openSigningKeys, type SigningKeys } from './signing-keys.ts'
import { hostRun, missingHostPackages, requireHostPackages, treeRun, type RunOptions } from './tool.ts'

const REPOSITORY = resolve(import.meta.dirname, '..')
const EXIT = { done: 0, failed: 1, unfit: 2 } as const

type BuildOptions = {
  readonly out: string
  readonly dryRun: boolean
  readonly mirror?: string
  readonly secureBootKeys?: string
  readonly installTools: boolean
  readonly cache: string
  readonly output: 'text' | 'json'
}

/** Files of an image, from the steps that made them; with `only`, when the profile names one of these outputs. */
const ARTIFACTS: readonly {
  readonly step: StepName
  readonly file: string
  readonly only?: readonly Output[]
}[] = [
  { step: 'disk', file: 'disk.raw' },
  { step: 'disk', file: 'disk.qcow2', only: ['qcow2'] },
  { step: 'uki', file: 'stele.efi' },
  { step: 'uki', file: 'cmdline' },
  { step: 'initrd', file: 'initrd.zst' },
  { step: 'root', file: 'kernel/vmlinuz', only: ['raw', 'qcow2'] },
  { step: 'verity', file: 'roothash' },
  { step: 'uml-kernel', file: 'linux' },
  { step: 'filesystem', file: 'root.erofs', only: ['uml'] },
  { step: 'manifest', file: 'manifest.json' },
  { step: 'manifest', file: 'sbom.spdx.json' },
  { step: 'manifest', file: 'executables.txt' },
]

function makePlan(
  profileName: string,
  options: Pick<BuildOptions, 'mirror'>,
  keys: SigningKeys | undefined,
): Plan {
  const { profile, contents } = readProfile(profileName, join(REPOSITORY, 'images'))
  const epoch = process.env['SOURCE_DATE_EPOCH']
  const dated = epoch === undefined ? profile : { ...profile, epoch: parseEpoch(epoch) }
  const { mirror } = options
  const seen = observe({ repository: REPOSITORY, suite: profile.suite, mirror, signer: keys?.signer })
  return plan(dated, contents, seen)
}

function signingKeysOf({ secureBootKeys }: Pick<BuildOptions, 'secureBootKeys'>): SigningKeys | undefined {
  return secureBootKeys === undefined ? undefined : openSigningKeys(resolve(secureBootKeys))
}

/** What a build would do: every step with its key and those before it, and whether its output is kept. */
function printPlan(
  { steps, ...made }: Plan,
  { output, cache }: Pick<BuildOptions, 'output' | 'cache'>,
): void {
  const known = steps.map((step) => ({ ...step, cached: Cache.has(resolve(cache), step.name, step.key) }))
  if (output === 'json') {
    process.stdout.write(`${JSON.stringify({ ...made, steps: known }, undefined, 2)}\n`)
    return
  }
  for (const { name, key, after, cached } of known) {
    const line = [name.padEnd(12), key.slice(0, 16), cached ? 'cached' : 'to do ', after.join(' ')].join('  ')
    process.stdout.write(`${line.trimEnd()}\n`)
  }
}

async function build(profileName: string, options: BuildOptions, signal: AbortSignal): Promise<void> {
  const missing = options.dryRun
    ? []
    : missingHostPackages({ platform: process.platform, uid: process.getuid?.() })
  const signingKeys = signingKeysOf(options)
  const made = makePlan(profileName, options, signingKeys)
  if (options.dryRun) return printPlan(made, options)
  const epoch = String(made.steps.find((step) => step.name === 'root')?.parameters['epoch'])
  const base = { SOURCE_DATE_EPOCH: epoch }
  const host = hostRun(base)
  if (options.installTools && missing.length > 0) {
    await host('apt-get', ['update', '-qq'], { signal })
    const env = { DEBIAN_FRONTEND: 'noninteractive' }
    await host('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...missing], { signal, env })
  } else requireHostPackages(missing)

  requireOut(resolve(options.out))
  using cache = new Cache(resolve(options.cache))
  const scratch = join(cache.folder, 'scratch')
  mkdirSync(scratch, { recursive: true })
  const now = () => performance.now()
  const began = now()
  using heartbeat = startHeartbeat(createProgress(process.stderr), {
    write: (line) => process.stderr.isTTY || process.stderr.write(line),
    now,
  })
  const folders = await run(made, {
    executors: EXECUTORS,
    cache,
    environment: (input) => {
      // The folder is looked up when a program runs: a step that uses no tools is after none.
      const treeOf = (name: StepName) => (program: string, args: readonly string[], how: RunOptions) =>
        treeRun(join(input(name), 'tree'), [cache.folder, REPOSITORY], base)(program, args, how)
      return {
        repository: REPOSITORY,
        signingKeys,
        scratch,
        host,
        tree: treeOf('tools'),
        treeOf,
      }
    },
    report: heartbeat.report,
    now,
    signal,
  })
  const files = ARTIFACTS.filter(
    ({ only }) => only === undefined || only.some((each) => made.outputs.includes(each)),
  ).flatMap(({ step, file }) => {
    const folder = folders.get(step)
    return folder === undefined ? [] : [join(folder, file)]
  })
  await publish(files, resolve(options.out), (from, to) =>
    host('cp', ['--sparse=always', '--reflink=auto', from, to], { signal }),
  )
  const seconds = ((now() - began) / 1000).toFixed(1)
  const result = {
    profile: made.profile,
    version: made.version,
    folder: resolve(options.out),
    seconds: Number(seconds),
  }
  process.stdout.write(
    options.output === 'json' ? `${JSON.stringify(result)}\n` : `image        ${seconds} s  ${options.out}\n`,
  )
}

function printFailure(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.unfit
  const known = error instanceof ImageFault
  const message = error instanceof Error ? error.message : String(error)
  process.stderr.write(`error: ${message}\n`)
  if (known && error.hint !== undefined) process.stderr.write(`${error.hint.replace(/^/gm, '  ')}\n`)
  const unfit =
    known && ['host_unfit', 'profile_invalid', 'source_unknown', 'busy', 'refused'].includes(error.code)
  return unfit ? EXIT.unfit : EXIT.failed
}

async function main(): Promise<number> {
  const stop = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => stop.abort(new Error(`the build was ended by ${name}`)))
  }
  const cache = () =>
    new Option('--cache <dir>', 'outputs of steps').default(join(REPOSITORY, '.cache/images'))
  const format = () => new Option('-o, --output <format>', 'format').choices(['text', 'json']).default('text')
  const program = new Command('npm run image --').exitOverride().description('Builds images of nodes.')
  program
    .command('build <profile>')
    .description('build an image: a profile of images/profiles, or the path of one')
    .requiredOption('--out <dir>', 'where the image and its manifest go')
    .option('--dry-run', 'print the steps, and which are cached, and do nothing', false)
    .option('--mirror <url>', "archive of Debian, instead of the host's own")
    .option('--secure-boot-keys <dir>', 'sign for Secure Boot with db.key and db.crt of this folder')
    .option('--install-tools', 'install what the host lacks', false)
    .addOption(cache())
    .addOption(format())
    .action(async (profile: string, options: BuildOptions) => build(profile, options, stop.signal))
  program
    .command('clean')
    .description('remove the outputs of all steps')
    .addOption(cache())
    .action((options: BuildOptions) => {
      using cache = new Cache(resolve(options.cache))
      cache.clear()
    })
  try {
    await program.parseAsync()
    return EXIT.done
  } catch (error) {
    return printFailure(error)
  }
}

process.exitCode = await main()
