/**
 * What the tests of this folder boot: the images of `STELE_IMAGE` and `STELE_UML_IMAGE`, else of `.build/image` and `.build/image-uml`, by the tools that
 * the build made. An image that is not there fails the test that needs it, with the command that builds it: nothing is left out in silence.
 */
import { join, resolve } from 'node:path'
import { CliFault } from '../../agent/cli/fault.ts'
import { openImage, type Image } from '../../agent/cli/machine/image.ts'
import { findTools, type Tools } from '../../agent/cli/machine/tool.ts'
import { openUmlImage, type UmlImage } from '../../agent/cli/machine/uml-image.ts'

export const REPOSITORY = resolve(import.meta.dirname, '../..')

/** Ten times a quiet machine's: emulation shares its processors with whatever else runs. */
export const BOOT_MS = 300_000

/** Returns the image that QEMU boots. Throws an Error with the command that builds one, when there is none. */
export function imageUnderTest(): Image {
  return withHint(() => openImage(process.env['STELE_IMAGE'] ?? join(REPOSITORY, '.build/image')))
}

/** Returns the image of User-Mode Linux. Throws an Error with the command that builds one, when there is none. */
export function umlImageUnderTest(): UmlImage {
  return withHint(() => openUmlImage(process.env['STELE_UML_IMAGE'] ?? join(REPOSITORY, '.build/image-uml')))
}

export function toolsUnderTest(): Tools {
  return findTools(join(REPOSITORY, '.cache/images/tools'))
}

/** A report of tests shows the message of an error; what to do about it belongs there. */
function withHint<T>(open: () => T): T {
  try {
    return open()
  } catch (cause) {
    if (cause instanceof CliFault) throw new Error(`${cause.message}; ${cause.hint ?? ''}`, { cause })
    throw cause
  }
}
