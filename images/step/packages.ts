/**
 * Unpacks the packages of the image. No maintainer script runs, and no package comes along that is not named or depended on, so there is no
 * shell, no perl and no package manager to remove later.
 */
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { StepContext } from '../run.ts'
import { APT_OPTIONS, writeSources } from './debian.ts'

const parameters = z.object({
  suite: z.string(),
  sources: z.array(z.string()),
  packages: z.array(z.string()),
})

const debianPackage = z.object({
  name: z.string(),
  version: z.string(),
  source: z.string(),
  sourceVersion: z.string(),
  /** Paths of its files and links, without a leading slash. */
  paths: z.array(z.string()),
})

/** A package as it was unpacked. */
export type DebianPackage = Readonly<z.infer<typeof debianPackage>>

/** Parses the `packages.json` of this step. */
export function parsePackages(text: string): readonly DebianPackage[] {
  return z.array(debianPackage).parse(JSON.parse(text))
}

const SHOWN = '${Package}\\t${Version}\\t${source:Package}\\t${source:Version}'

/** Writes `tree/` and `packages.json`. */
export async function unpackPackages(context: StepContext): Promise<void> {
  const { suite, sources, packages } = parameters.parse(context.step.parameters)
  const tree = join(context.out, 'tree')
  await context.host(
    'mmdebstrap',
    [
      ...[
        '--variant=extract',
        '--mode=root',
        '--format=directory',
        '--skip=cleanup/apt/cache',
        ...APT_OPTIONS,
      ],
      `--include=${packages.join(',')}`,
      suite,
      tree,
      writeSources(context.out, sources),
    ],
    { signal: context.signal },
  )
  const archives = join(tree, 'var/cache/apt/archives')
  const found: DebianPackage[] = []
  for (const name of readdirSync(archives)
    .filter((each) => each.endsWith('.deb'))
    .sort()) {
    found.push(await describe(join(archives, name), context))
  }
  writeFileSync(join(context.out, 'packages.json'), JSON.stringify(found))
  rmSync(join(tree, 'var'), { recursive: true })
}

async function describe(archive: string, context: StepContext): Promise<DebianPackage> {
  const { signal } = context
  const shown = await context.host('dpkg-deb', ['--show', `--showformat=${SHOWN}`, archive], { signal })
  const listing = await context.host('dpkg-deb', ['--contents', archive], { signal })
  const [name = '', version = '', source = name, sourceVersion = version] = shown.split('\t')
  return { name, version, source, sourceVersion, paths: parseListing(listing) }
}

/** Paths of a `dpkg-deb --contents` listing, folders left out. */
export function parseListing(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    const match = /^[-lh]\S+\s+\S+\s+\d+\s+\S+\s+\S+\s+\.\/(.*?)(?: -> .*| link to .*)?$/.exec(line)
    return match?.[1] === undefined ? [] : [match[1]]
  })
}
