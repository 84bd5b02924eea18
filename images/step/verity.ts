/** The disk with slot A and its tree of hashes. The hash at the top of the tree names the whole root: it goes into the kernel's command line. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ImageFault } from '../fault.ts'
import type { StepContext } from '../run.ts'
import { layoutParameters, repart } from './repart.ts'

/** Writes `disk.raw` (its ESP empty) and `roothash`. */
export async function makeVerity(context: StepContext): Promise<void> {
  const layout = layoutParameters.parse(context.step.parameters)
  const rootHash = await repart(context, layout, {
    disk: join(context.out, 'disk.raw'),
    root: join(context.input('filesystem'), 'root.erofs'),
    esp: undefined,
  })
  if (rootHash === undefined) throw new ImageFault('input_missing', 'systemd-repart printed no root hash')
  writeFileSync(join(context.out, 'roothash'), rootHash)
  rmSync(join(context.out, 'definitions'), { recursive: true })
}
