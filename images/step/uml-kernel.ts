/**
 * Linux as a program, for User-Mode Linux: built from the kernel source that Debian packages, by the compiler of a tools tree of its own.
 *
 * The source is unpacked and built in the scratch folder, where a build that was ended goes on, and a change of the configuration compiles only what it
 * changes. Invariants: a change of the source that no longer fits fails the build; a line of the fragment that the configuration does not end with fails the build, so that no option is lost in silence.
 */
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { availableParallelism } from 'node:os'
import { basename, join } from 'node:path'
import { z } from 'zod'
import { enterTree } from '#kit/tools-tree'
import { ImageFault } from '../fault.ts'
import type { StepContext } from '../run.ts'

const parameters = z.object({ epoch: z.number() })
const FRAGMENT = 'images/uml/kernel.config'

export type Change = { readonly from: string; readonly to: string }

/** What is changed of Debian's source. */
const CHANGES: readonly (Change & { readonly file: string })[] = [
  // A reboot runs the program of the kernel again in the same process, which kept the tap device open: the next kernel could not take it (EBUSY), and
  // the machine had no network from its first reboot on.
  {
    file: 'arch/um/drivers/vector_user.c',
    from: 'open(PATH_NET_TUN, O_RDWR)',
    to: 'open(PATH_NET_TUN, O_RDWR | O_CLOEXEC)',
  },
]

/** Writes `linux`, `release` and `config`. Throws `input_missing` for an option that this kernel does not have. */
export async function makeUmlKernel(context: StepContext): Promise<void> {
  const { epoch } = parameters.parse(context.step.parameters)
  const source = await unpackSource(context)
  const make = (...targets: readonly string[]) =>
    runInTree(context, ['make', '-C', source, 'ARCH=um', '--silent', ...targets], {
      KBUILD_BUILD_TIMESTAMP: `@${epoch}`,
      KBUILD_BUILD_USER: 'stele',
      KBUILD_BUILD_HOST: 'stele',
      KBUILD_BUILD_VERSION: '1',
    })
  for (const { file, ...change } of CHANGES) {
    const path = join(source, file)
    const before = readFileSync(path, 'utf8')
    const after = changed(before, change)
    // An unchanged file keeps its time, so that it is not compiled again.
    if (after !== before) writeFileSync(path, after)
  }
  const config = join(source, '.config')
  const fragment = readFileSync(join(context.repository, FRAGMENT), 'utf8')
  await make('defconfig')
  writeFileSync(config, `${readFileSync(config, 'utf8')}\n${fragment}`)
  await make('olddefconfig')
  const lost = lostOptions(fragment, readFileSync(config, 'utf8'))
  if (lost.length > 0) {
    throw new ImageFault('input_missing', `the kernel did not take ${lost.join(', ')}`, {
      hint: `change ${FRAGMENT}: an option is unknown, or what it depends on is off`,
    })
  }
  await make(`-j${availableParallelism()}`, 'linux')
  await runInTree(context, ['strip', '-o', join(context.out, 'linux'), join(source, 'linux')])
  writeFileSync(join(context.out, 'release'), (await make('kernelrelease')).trim())
  copyFileSync(config, join(context.out, 'config'))
}

/** Returns the source with the change made, once, or as it is when it was made before. Throws `input_missing` when the change does not fit. Pure. */
export function changed(source: string, { from, to }: Change): string {
  if (source.includes(to)) return source
  const parts = source.split(from)
  if (parts.length !== 2) {
    throw new ImageFault('input_missing', `the kernel source has ${parts.length - 1} times: ${from}`, {
      hint: 'it is another version: look whether the change is still needed',
    })
  }
  return parts.join(to)
}

/** Lines of a fragment that a finished configuration does not hold; `=n` holds when the option is off or does not exist. Pure. */
export function lostOptions(fragment: string, config: string): readonly string[] {
  const lines = config.split('\n')
  const set = new Set(lines)
  const names = new Set(lines.map((line) => line.replace(/=.*$/, '')))
  return fragment
    .split('\n')
    .filter((line) => line.startsWith('CONFIG_'))
    .filter((line) => (line.endsWith('=n') ? names.has(line.slice(0, -2)) : !set.has(line)))
}

async function unpackSource(context: StepContext): Promise<string> {
  const tools = context.input('uml-tools')
  const folder = join(context.scratch, 'uml-kernel')
  const source = join(folder, basename(tools))
  mkdirSync(folder, { recursive: true })
  if (readdirSync(folder).includes(basename(source))) return source
  const [archive, ...others] = readdirSync(join(tools, 'tree/usr/src')).filter((name) =>
    /^linux-source-.*\.tar\.xz$/.test(name),
  )
  if (archive === undefined || others.length > 0) {
    throw new ImageFault('input_missing', 'the packages must bring exactly one kernel source')
  }
  // Sources of an older package are of no more use.
  rmSync(folder, { recursive: true })
  const partial = `${source}.partial`
  mkdirSync(partial, { recursive: true })
  await runInTree(context, ['tar', '-xf', `/usr/src/${archive}`, '-C', partial, '--strip-components=1'])
  renameSync(partial, source)
  return source
}

/** Runs a program of this step's own tools tree, at a low priority: it has ten minutes of work for every processor. */
function runInTree(
  context: StepContext,
  command: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const tree = join(context.input('uml-tools'), 'tree')
  const [program = '', ...args] = enterTree(tree, [context.out, context.scratch])
  return context.host(program, [...args, 'nice', '-n', '10', ...command], { signal: context.signal, env })
}
