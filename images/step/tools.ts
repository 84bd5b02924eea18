/** The tools tree: a chroot of Debian with what its older release lacks (repart, ukify, erofs, compilers). Never part of an image. */
import { join } from 'node:path'
import { z } from 'zod'
import type { StepContext } from '../run.ts'
import { APT_OPTIONS, writeSources } from './debian.ts'

const parameters = z.object({
  suite: z.string(),
  sources: z.array(z.string()),
  packages: z.array(z.string()),
})

export async function makeTools(context: StepContext): Promise<void> {
  const { suite, sources, packages } = parameters.parse(context.step.parameters)
  const list = writeSources(context.out, sources)
  await context.host(
    'mmdebstrap',
    [
      ...['--variant=apt', '--mode=root', '--format=directory', ...APT_OPTIONS],
      `--include=${packages.join(',')}`,
      suite,
      join(context.out, 'tree'),
      list,
    ],
    { signal: context.signal },
  )
}
