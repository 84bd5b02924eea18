/** An image that machines boot from, as the image build leaves it in a folder. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { z } from 'zod'
import { CliFault } from '../fault.ts'

const manifestSchema = z.object({
  version: z.string(),
  rootHash: z.string().regex(/^[0-9a-f]{64}$/),
  executables: z.array(z.string()),
  rootBytes: z.number(),
  artifacts: z.array(z.object({ name: z.string(), bytes: z.number() })),
  components: z.array(z.object({ name: z.string(), version: z.string(), bytes: z.number() })),
})

export type Image = {
  readonly folder: string
  readonly disk: string
  readonly uki: string
  readonly kernel: string
  readonly initrd: string
  readonly commandLine: string
  readonly manifest: Readonly<z.infer<typeof manifestSchema>>
}

/** Returns the image in `folder`. Throws CliFault `image_missing`, with the command that makes one, or `image_invalid`. */
export function openImage(folder: string): Image {
  const manifest = join(folder, 'manifest.json')
  if (!existsSync(manifest)) {
    throw new CliFault('image_missing', `there is no image in ${folder}`, {
      hint: `build one: npm run image -- build qemu-amd64 --out ${folder}`,
    })
  }
  try {
    return {
      folder,
      disk: join(folder, 'disk.raw'),
      uki: join(folder, 'stele.efi'),
      kernel: join(folder, 'vmlinuz'),
      initrd: join(folder, 'initrd.zst'),
      commandLine: readFileSync(join(folder, 'cmdline'), 'utf8'),
      manifest: parseManifest(readFileSync(manifest, 'utf8'), manifest),
    }
  } catch (cause) {
    throw new CliFault('image_invalid', `the image in ${folder} is not whole`, {
      hint: 'build it again into the same folder',
      cause,
    })
  }
}

/** Throws CliFault `image_invalid` when a file that machines boot from is not there, or not as long as its manifest says. */
export function requireBootable(image: Image): void {
  requireWhole(
    image,
    [image.disk, image.kernel, image.initrd].map((file) => basename(file)),
  )
}

/** The same for the files of these names alone; `hint` is what to do about one that is not whole. */
export function requireWhole(
  { folder, manifest }: Image,
  names: readonly string[],
  hint = 'build it again into the same folder',
): void {
  for (const name of names) {
    const listed = manifest.artifacts.find((artifact) => artifact.name === name)
    const size = statSync(join(folder, name), { throwIfNoEntry: false })?.size
    if (listed !== undefined && size === listed.bytes) continue
    throw new CliFault('image_invalid', `the image in ${folder} is not whole: ${name}`, { hint })
  }
}

/** The manifest of an image with a verified root. Throws CliFault `image_invalid`, which names `label`. */
export function parseManifest(text: string, label: string): Image['manifest'] {
  try {
    return manifestSchema.parse(JSON.parse(text))
  } catch (cause) {
    throw new CliFault('image_invalid', `${label} is no manifest of an image with a verified root`, {
      hint: 'name the manifest.json that the build left beside the image',
      cause,
    })
  }
}
