/** The root as an erofs file system: read-only by its format, compressed, the same bytes for the same tree. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { ImageFault } from '../fault.ts'
import type { StepContext } from '../run.ts'

const parameters = z.object({
  algorithm: z.string(),
  level: z.number(),
  epoch: z.number(),
  seed: z.string(),
  limit: z.number(),
})

/** Writes `root.erofs`. Throws `budget_exceeded`. */
export async function makeFilesystem(context: StepContext): Promise<void> {
  const { algorithm, level, epoch, seed, limit } = parameters.parse(context.step.parameters)
  const file = join(context.out, 'root.erofs')
  await context.tree(
    'mkfs.erofs',
    [
      ...['--quiet', `-z${algorithm},level=${level}`],
      ...[`-T${epoch}`, `-U${seed}`, '--all-root', '-x1'],
      file,
      join(context.input('root'), 'tree'),
    ],
    { signal: context.signal },
  )
  const { size } = statSync(file)
  if (size > limit) {
    throw new ImageFault('budget_exceeded', `the root has ${size} bytes, its budget is ${limit}`, {
      hint: 'find what grew in the manifest of the last image, or raise rootBytes in the profile',
    })
  }
}
