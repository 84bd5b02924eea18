/**
 * The unified kernel image: kernel, initrd and command line in one program of the firmware. The command line holds the root hash, so who trusts this
 * file trusts every byte of the root. With signing keys, it and the boot loader are signed for Secure Boot.
 */
import { copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { ImageFault } from '../fault.ts'
import type { StepContext } from '../run.ts'
import { kernelRelease } from './kernel.ts'

const parameters = z.object({
  commandLine: z.array(z.string()),
  epoch: z.number(),
  version: z.string(),
  limit: z.number(),
  signer: z.string().nullable(),
})

/** Files of a folder of signing keys: the key that signs, and its certificate, which the firmware must have in `db`. */
export const SIGNING_KEY = 'db.key'
export const SIGNING_CERTIFICATE = 'db.crt'
const LOADER = 'usr/lib/systemd/boot/efi/systemd-bootx64.efi'

/** Writes `stele.efi`, `loader.efi` and `cmdline`. Throws `budget_exceeded`. */
export async function makeUki(context: StepContext): Promise<void> {
  const { commandLine, limit, signer } = parameters.parse(context.step.parameters)
  const rootHash = readFileSync(join(context.input('verity'), 'roothash'), 'utf8')
  const cmdline = join(context.out, 'cmdline')
  writeFileSync(cmdline, [...commandLine, `roothash=${rootHash}`].join(' '))
  const root = context.input('root')
  const image = join(context.out, 'stele.efi')
  const keys = signer === null ? undefined : requireKeys(context)
  await context.tree(
    'ukify',
    [
      'build',
      `--linux=${join(root, 'kernel/vmlinuz')}`,
      `--initrd=${join(context.input('initrd'), 'initrd.zst')}`,
      `--cmdline=@${cmdline}`,
      `--os-release=@${join(root, 'tree/usr/lib/os-release')}`,
      `--uname=${kernelRelease(root)}`,
      `--output=${image}`,
    ],
    { signal: context.signal },
  )
  const { size } = statSync(image)
  if (size > limit)
    throw new ImageFault('budget_exceeded', `the UKI has ${size} bytes, its budget is ${limit}`)
  const loader = join(context.out, 'loader.efi')
  copyFileSync(join(context.input('tools'), 'tree', LOADER), loader)
  if (keys !== undefined) {
    await sign(context, keys, image)
    await sign(context, keys, loader)
  }
}

function requireKeys(context: StepContext): string {
  if (context.signingKeys === undefined)
    throw new ImageFault('input_missing', 'the plan signs, but no keys were given')
  return context.signingKeys
}

async function sign(context: StepContext, keys: string, file: string): Promise<void> {
  await context.tree(
    'sbsign',
    ['--key', join(keys, SIGNING_KEY), '--cert', join(keys, SIGNING_CERTIFICATE), '--output', file, file],
    { signal: context.signal, binds: [keys] },
  )
}
