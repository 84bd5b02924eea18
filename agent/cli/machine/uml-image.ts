/** The root of a node and the kernel that runs it as a program, as the image build leaves them in a folder for the profile `uml-amd64`. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { CliFault } from '../fault.ts'

const manifestSchema = z.object({ version: z.string(), commandLine: z.string(), kernel: z.string() })

export type UmlImage = {
  readonly folder: string
  readonly linux: string
  readonly root: string
  readonly manifest: Readonly<z.infer<typeof manifestSchema>>
}

/** Returns the image in `folder`. Throws CliFault `image_missing`, with the command that makes one, or `image_invalid`. */
export function openUmlImage(folder: string): UmlImage {
  const [linux, root, manifest] = ['linux', 'root.erofs', 'manifest.json'].map((name) => join(folder, name))
  if (linux === undefined || root === undefined || manifest === undefined || !existsSync(linux)) {
    throw new CliFault('image_missing', `there is no User-Mode Linux image in ${folder}`, {
      hint: `build one: npm run image -- build uml-amd64 --out ${folder}`,
    })
  }
  try {
    return { folder, linux, root, manifest: manifestSchema.parse(JSON.parse(readFileSync(manifest, 'utf8'))) }
  } catch (cause) {
    throw new CliFault('image_invalid', `the image in ${folder} is not whole`, {
      hint: 'build it again into the same folder',
      cause,
    })
  }
}
