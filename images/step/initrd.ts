/**
 * The first root: systemd, udev and verity, and nothing with which a stuck boot could be steered. Unpacked by the kernel into memory; it finds the
 * verified root by its hash and hands over to it.
 */
import { copyFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { constants, zstdCompressSync } from 'node:zlib'
import { z } from 'zod'
import { writeCpio } from '../cpio.ts'
import { ImageFault } from '../fault.ts'
import type { StepContext } from '../run.ts'
import { Tree } from '../tree.ts'
import { closure, libraryPath } from './prune.ts'
import { kernelRelease } from './kernel.ts'
import { UNITS } from './unit.ts'

const parameters = z.object({
  executables: z.array(z.string()),
  libraries: z.array(z.string()),
  units: z.array(z.string()),
  modules: z.array(z.string()),
  udevRules: z.array(z.string()),
  epoch: z.number(),
})

const WANTS = ['sysinit.target', 'sockets.target'] as const
const LINKS = {
  bin: 'usr/bin',
  sbin: 'usr/sbin',
  lib: 'usr/lib',
  lib64: 'usr/lib64',
  init: 'usr/lib/systemd/systemd',
} as const
const FOLDERS = ['dev', 'proc', 'run', 'sys', 'sysroot', 'tmp', 'var'] as const
/** Groups that udev's rules name, in the order of their numbers. */
const GROUPS = 'root tty disk kmem input video audio render sgx cdrom tape dialout lp kvm clock'.split(' ')
/** Loaded before udev looks: the disk, the fast hash, and what carries the root. */
const PRELOADED = ['virtio_blk', 'sha256_ssse3', 'dm_verity', 'erofs']
const ZSTD_LEVEL = 10

/** Writes `initrd.zst`. Throws `input_missing`. */
export async function makeInitrd(context: StepContext): Promise<void> {
  const wanted = parameters.parse(context.step.parameters)
  const root = new Tree(join(context.input('root'), 'tree'))
  const packages = new Tree(join(context.input('packages'), 'tree'))
  const tree = new Tree(join(context.out, 'tree'))
  tree.makeFolder('')
  const release = kernelRelease(context.input('root'))

  const libraries = wanted.libraries.map((name) => libraryPath(root, name, 'the initrd'))
  for (const path of closure(root, [...wanted.executables, ...libraries])) copy(tree, root, path)
  addUnits(tree, root, wanted.units)
  for (const rule of wanted.udevRules) {
    // Ours are in the root; of the packages' rules it may not have all that the initrd wants.
    const path = `usr/lib/udev/rules.d/${rule}`
    copy(tree, root.has(path) ? root : packages, path)
  }
  addModules(tree, root, { release, names: wanted.modules })
  addIdentity(tree, root)

  await context.tree('depmod', ['-b', tree.folder, release], { signal: context.signal })
  const archive = writeCpio(tree, wanted.epoch)
  const packed = zstdCompressSync(archive, { params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL } })
  writeFileSync(join(context.out, 'initrd.zst'), packed)
  tree.remove('')
}

function copy(tree: Tree, source: Tree, path: string): void {
  if (!tree.has(path)) tree.copyFrom(source, path)
}

function addUnits(tree: Tree, root: Tree, units: readonly string[]): void {
  for (const unit of units) {
    if (root.has(`${UNITS}/${unit}`)) copy(tree, root, `${UNITS}/${unit}`)
    else throw new ImageFault('input_missing', `the initrd wants the unit ${unit}, which is not in the root`)
  }
  tree.link(`${UNITS}/default.target`, 'initrd.target')
  for (const target of WANTS) {
    for (const unit of root.list(`${UNITS}/${target}.wants`)) {
      if (tree.has(`${UNITS}/${unit}`)) tree.link(`${UNITS}/${target}.wants/${unit}`, `../${unit}`)
    }
  }
  // Its devices come by a generator; the target makes the initrd wait for them.
  tree.link(`${UNITS}/sysinit.target.wants/veritysetup.target`, '../veritysetup.target')
}

function addModules(
  tree: Tree,
  root: Tree,
  options: { readonly release: string; readonly names: readonly string[] },
): void {
  const folder = `usr/lib/modules/${options.release}`
  const index = new Map(
    root
      .read(`${folder}/modules.dep`)
      .split('\n')
      .filter((line) => line.includes(':'))
      .map((line) => {
        const [file = '', needs = ''] = line.split(':')
        return [moduleName(file), [file, ...needs.split(' ').filter((each) => each !== '')]] as const
      }),
  )
  const builtIn = new Set(root.read(`${folder}/modules.builtin`).split('\n').map(moduleName))
  for (const name of options.names) {
    const files = index.get(name)
    if (files === undefined && !builtIn.has(name)) {
      throw new ImageFault('input_missing', `the kernel has no module ${name}`)
    }
    for (const file of files ?? []) copy(tree, root, `${folder}/${file}`)
  }
  for (const file of ['modules.builtin', 'modules.builtin.modinfo', 'modules.order'])
    copy(tree, root, `${folder}/${file}`)
  tree.write('usr/lib/modules-load.d/boot.conf', `${PRELOADED.join('\n')}\n`)
}

function moduleName(file: string): string {
  return (basename(file).split('.')[0] ?? '').replaceAll('-', '_')
}

function addIdentity(tree: Tree, root: Tree): void {
  for (const [path, target] of Object.entries(LINKS)) tree.link(path, target)
  tree.link('usr/lib64/ld-linux-x86-64.so.2', '../lib/x86_64-linux-gnu/ld-linux-x86-64.so.2')
  copyRelease(tree, root)
  tree.write('etc/passwd', 'root:x:0:0::/root:/usr/sbin/nologin\n')
  tree.write('etc/group', GROUPS.map((name, id) => `${name}:x:${id}:\n`).join(''))
  tree.write('etc/machine-id', '')
  for (const folder of FOLDERS) tree.makeFolder(folder)
}

function copyRelease(tree: Tree, root: Tree): void {
  copyFileSync(root.at('usr/lib/os-release'), tree.at('usr/lib/initrd-release'))
  tree.link('etc/initrd-release', '../usr/lib/initrd-release')
  tree.link('etc/os-release', '../usr/lib/initrd-release')
}
