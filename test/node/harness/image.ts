/** Where the image under test is, and the tools that boot it. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { enterTree } from '../../../images/tool.ts'

const REPOSITORY = resolve(import.meta.dirname, '../../..')

/** An image as `npm run image -- build <profile> --out DIR` left it. */
export type Image = {
  readonly folder: string
  readonly disk: string
  readonly uki: string
  readonly kernel: string
  readonly initrd: string
  readonly commandLine: string
  readonly manifest: {
    readonly rootHash: string
    readonly version: string
    readonly executables: readonly string[]
  }
}

/** The image in `STELE_IMAGE`, or in `.build/image`. Throws with the command that makes one. */
export function openImage(folder = process.env['STELE_IMAGE'] ?? join(REPOSITORY, '.build/image')): Image {
  if (!existsSync(join(folder, 'manifest.json'))) {
    throw new Error(`no image in ${folder}: run "node images/main.ts build qemu-amd64 --out ${folder}" first`)
  }
  return {
    folder,
    disk: join(folder, 'disk.raw'),
    uki: join(folder, 'stele.efi'),
    kernel: join(folder, 'vmlinuz'),
    initrd: join(folder, 'initrd.zst'),
    commandLine: readFileSync(join(folder, 'cmdline'), 'utf8'),
    manifest: JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as Image['manifest'], // written by our own build
  }
}

/** How to call a program of the tools tree, and where that tree's files are on the host. */
export type Tools = {
  readonly command: (binds: readonly string[]) => readonly string[]
  readonly file: (path: string) => string
}

/** The newest tools tree of the build's cache when there is one, else the host's own programs. */
export function findTools(cache = join(REPOSITORY, '.cache/images/tools')): Tools {
  const trees = existsSync(cache) ? readdirSync(cache).map((name) => join(cache, name, 'tree')) : []
  const newest = trees
    .filter((tree) => existsSync(join(tree, 'usr/bin/qemu-system-x86_64')))
    .sort((a, b) => statSync(join(b, '..')).mtimeMs - statSync(join(a, '..')).mtimeMs)[0]
  if (newest === undefined) return { command: () => [], file: (path) => path }
  return { command: (binds) => enterTree(newest, [...binds, '/dev/shm']), file: (path) => join(newest, path) }
}
