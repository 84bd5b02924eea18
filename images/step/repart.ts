/**
 * The partition table as definitions of repart.d(5). The disk is made in two passes with the same definitions, because the boot loader's partition
 * holds the kernel image, which holds the hash of the root: first root and its hashes, then the ESP.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { StepContext } from '../run.ts'

export const layoutParameters = z.object({
  partitions: z.object({ espMiB: z.number(), rootMiB: z.number(), verityMiB: z.number() }),
  epoch: z.number(),
  seed: z.string(),
  version: z.string(),
})
export type Layout = z.infer<typeof layoutParameters>

export type RepartOptions = {
  readonly disk: string
  /** The file system that becomes slot A. */
  readonly root: string
  /** Folder whose files fill the ESP; the other pass leaves that partition empty. */
  readonly esp: string | undefined
}

const printed = z.array(z.object({ type: z.string(), uuid: z.string(), roothash: z.string().nullish() }))

/** Text of each definition file, by name. Pure. */
export function definitions(
  layout: Layout,
  files: { readonly root: string; readonly esp: string },
): Record<string, string> {
  const { espMiB, rootMiB, verityMiB } = layout.partitions
  const section = (lines: readonly string[]) => `[Partition]\n${lines.join('\n')}\n`
  const size = (mebibytes: number) => [`SizeMinBytes=${mebibytes}M`, `SizeMaxBytes=${mebibytes}M`]
  return {
    '00-esp.conf': section(['Type=esp', 'Format=vfat', ...size(espMiB), `CopyFiles=${files.esp}:/`]),
    '10-root.conf': section([
      ...['Type=root', `Label=stele_${layout.version}`, `CopyBlocks=${files.root}`, 'Verity=data'],
      ...['VerityMatchKey=root', 'ReadOnly=1', ...size(rootMiB)],
    ]),
    '11-root-verity.conf': section([
      ...['Type=root-verity', `Label=stele_${layout.version}_verity`, 'Verity=hash', 'VerityMatchKey=root'],
      ...['ReadOnly=1', ...size(verityMiB)],
    ]),
  }
}

/** Runs one pass over `disk`. Returns the root hash when the pass made it. */
export async function repart(
  context: StepContext,
  layout: Layout,
  options: RepartOptions,
): Promise<string | undefined> {
  const folder = join(context.out, 'definitions')
  mkdirSync(folder, { recursive: true })
  const esp = options.esp ?? folder
  for (const [name, text] of Object.entries(definitions(layout, { root: options.root, esp }))) {
    writeFileSync(join(folder, name), text)
  }
  const pass =
    options.esp === undefined
      ? ['--empty=create', '--size=auto', '--defer-partitions=esp']
      : ['--defer-partitions=root,root-verity']
  const output = await context.tree(
    'systemd-repart',
    [
      ...[
        '--offline=yes',
        '--dry-run=no',
        '--json=short',
        `--seed=${layout.seed}`,
        `--definitions=${folder}`,
      ],
      ...pass,
      options.disk,
    ],
    { signal: context.signal },
  )
  return (
    printed.parse(JSON.parse(output)).find((partition) => (partition.roothash ?? '') !== '')?.roothash ??
    undefined
  )
}
