/** What the tests of this folder boot: the image of `STELE_IMAGE`, else of `.build/image`, by the tools that the build made. */
import { join, resolve } from 'node:path'
import { openImage, type Image } from '../../agent/cli/machine/image.ts'
import { findTools, type Tools } from '../../agent/cli/machine/tool.ts'

export const REPOSITORY = resolve(import.meta.dirname, '../..')

/** Ten times a quiet machine's: emulation shares its processors with whatever else runs. */
export const BOOT_MS = 300_000

export function imageUnderTest(): Image {
  return openImage(process.env['STELE_IMAGE'] ?? join(REPOSITORY, '.build/image'))
}

export function toolsUnderTest(): Tools {
  return findTools(join(REPOSITORY, '.cache/images/tools'))
}
