/**
 * The unified kernel image: kernel, initrd and command line in one program of the firmware. The command line holds the root hash, so who trusts this
 * file trusts every byte of the root. With signing keys, it and the boot loader are signed for Secure Boot.
 */
import { createHash } from 'node:crypto'
import { copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { ImageFault } from '../fault.ts'
import { componentOf, type Component } from '../manifest.ts'
import type { StepContext } from '../run.ts'
import type { SigningKeys } from '../signing-keys.ts'
import { kernelRelease } from './kernel.ts'

const parameters = z.object({
  commandLine: z.array(z.string()),
  epoch: z.number(),
  version: z.string(),
  limit: z.number(),
  signer: z.string().nullable(),
})

const LOADER_PACKAGE = 'systemd-boot-efi'
const STUB = 'usr/lib/systemd/boot/efi/linuxx64.efi.stub'
const LOADER = 'usr/lib/systemd/boot/efi/systemd-bootx64.efi'

/** Writes `stele.efi`, `loader.efi`, `cmdline`, and to `loader.json` which package both the loader and the stub of the UKI are of. Throws `budget_exceeded`. */
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
  writeFileSync(join(context.out, 'loader.json'), JSON.stringify(await loaderComponent(context)))
  const loader = join(context.out, 'loader.efi')
  copyFileSync(join(context.input('tools'), 'tree', LOADER), loader)
  if (keys !== undefined) {
    await sign(context, keys, image)
    await sign(context, keys, loader)
  }
}

/** The boot loader as a component of the image: of the tools tree's package, as no file of the root is of it. */
async function loaderComponent(context: StepContext): Promise<Component> {
  const told = await context.tree(
    'dpkg-query',
    ['--show', '--showformat=${Version}\\t${source:Package} ${source:Version}', LOADER_PACKAGE],
    { signal: context.signal },
  )
  const [version = '', source = ''] = told.split('\t')
  const files = [STUB, LOADER].map((path) => {
    const bytes = readFileSync(join(context.input('tools'), 'tree', path))
    return { path, bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
  })
  return componentOf({ name: LOADER_PACKAGE, version, source, origin: 'debian' }, files)
}

function requireKeys(context: StepContext): SigningKeys {
  if (context.signingKeys === undefined)
    throw new ImageFault('input_missing', 'the plan signs, but no keys were given')
  return context.signingKeys
}

async function sign(context: StepContext, { key, certificate }: SigningKeys, file: string): Promise<void> {
  await context.tree('sbsign', ['--key', key, '--cert', certificate, '--output', file, file], {
    signal: context.signal,
    readable: [key, certificate],
  })
}
