/**
 * The folder of an image that is done.
 *
 * Invariant: `manifest.json` is there only beside the files that it lists. It is removed before the first of them is replaced and appears after the
 * last, so a build that was killed leaves the old image, no image, or the new one, and never one that is mixed.
 */
import { mkdtempSync, renameSync, rmdirSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { codeOf } from '#kit/fault'
import { makeFolder } from '#kit/folder'
import { ImageFault } from './fault.ts'

const MANIFEST = 'manifest.json'

/** Makes the folder and tries it, so that what takes no files is told before a build and not after. Throws ImageFault `refused`. */
export function requireOut(out: string): void {
  try {
    makeFolder(out)
    rmdirSync(mkdtempSync(join(out, '.try-')))
  } catch (cause) {
    throw new ImageFault('refused', `${out} takes no files: ${codeOf(cause) ?? 'unknown reason'}`, {
      hint: 'name a folder with --out where you may make files, or one that can be made',
      cause,
    })
  }
}

/** Puts the files into the folder `out`: all are copied beside their names first. Throws what `copy` throws; the image that was there is whole then. */
export async function publish(
  files: readonly string[],
  out: string,
  copy: (from: string, to: string) => Promise<unknown>,
): Promise<void> {
  const partial = (file: string) => join(out, `${basename(file)}.partial`)
  const isManifest = (file: string) => basename(file) === MANIFEST
  const order = [...files.filter((file) => !isManifest(file)), ...files.filter(isManifest)]
  try {
    for (const file of order) {
      // Removed, as what a killed build left there, or a link, would be written through.
      rmSync(partial(file), { recursive: true, force: true })
      await copy(file, partial(file))
    }
    rmSync(join(out, MANIFEST), { force: true })
    for (const file of order) renameSync(partial(file), join(out, basename(file)))
  } finally {
    for (const file of order) rmSync(partial(file), { recursive: true, force: true })
  }
}
