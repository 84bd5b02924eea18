/** The kernel that the step `root` put beside the root. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Its release, from the output folder of that step. */
export function kernelRelease(folder: string): string {
  return readFileSync(join(folder, 'kernel/release'), 'utf8')
}
