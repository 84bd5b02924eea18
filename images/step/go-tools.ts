/**
 * The compilers of Go and C for containerd and runc, as a tools tree of their own: packages unpacked without their scripts, which compilers do not need, in
 * half the time of a tree that is configured. The longest step of a build waits for this one.
 */
import { join } from 'node:path'
import { z } from 'zod'
import type { StepContext } from '../run.ts'
import { APT_OPTIONS, writeSources } from './debian.ts'

const parameters = z.object({
  suite: z.string(),
  sources: z.array(z.string()),
  packages: z.array(z.string()),
})

/** Writes `tree/`. */
export async function unpackGoTools(context: StepContext): Promise<void> {
  const { suite, sources, packages } = parameters.parse(context.step.parameters)
  await context.host(
    'mmdebstrap',
    [
      ...['--variant=extract', '--mode=root', '--format=directory', ...APT_OPTIONS],
      `--include=${packages.join(',')}`,
      suite,
      join(context.out, 'tree'),
      writeSources(context.out, sources),
    ],
    { signal: context.signal },
  )
}
