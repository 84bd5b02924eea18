/** Cuts a tree down to its allow-list: named programs, the libraries they load, and no link that leads nowhere. */
import { matchesGlob } from 'node:path'
import { basename } from 'node:path'
import { ImageFault } from '../fault.ts'
import { isLibrary, type Tree } from '../tree.ts'

export const LIBRARY_FOLDERS: readonly string[] = [
  'usr/lib/x86_64-linux-gnu',
  'usr/lib/x86_64-linux-gnu/systemd',
  'usr/lib/systemd',
]

/** Folders whose executable files are programs. */
const PROGRAM_FOLDERS: readonly string[] = [
  ...['usr/bin', 'usr/sbin', 'usr/libexec', 'usr/lib/systemd', 'usr/lib/udev', 'usr/lib/cni'],
  ...['usr/lib/x86_64-linux-gnu', 'etc'],
]
const LOADER = 'usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2'
/** Links that lead to what exists only on a running system. */
const RUNTIME_TARGET = /^(\/dev\/null|\/run\/|\/proc\/|\.\.\/run\/|\.\.\/proc\/)/

/** Removes every program that no pattern names. Returns the paths kept. Throws `input_missing` for a pattern that names nothing. */
export function prunePrograms(tree: Tree, patterns: readonly string[]): readonly string[] {
  const programs = PROGRAM_FOLDERS.flatMap((folder) => tree.entries(folder)).filter(
    ({ path, stats }) => stats.isFile() && (stats.mode & 0o111) !== 0 && !isLibrary(path),
  )
  const isKept = (path: string) => patterns.some((pattern) => matchesGlob(path, pattern))
  const [kept, gone] = [
    programs.filter(({ path }) => isKept(path)),
    programs.filter(({ path }) => !isKept(path)),
  ]
  for (const { path } of gone) tree.remove(path)
  const idle = patterns.filter((pattern) => !kept.some(({ path }) => matchesGlob(path, pattern)))
  if (idle.length > 0) {
    throw new ImageFault('input_missing', `no package brings ${idle.join(', ')}`, {
      hint: 'correct the list of executables in images/contents',
    })
  }
  return [...new Set(kept.map(({ path }) => path))]
}

/** Paths of all that `path` loads, through links and libraries of libraries; itself included. Throws `input_missing` when one is absent. */
export function closure(tree: Tree, roots: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>()
  const pending = [...roots]
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    if (found.has(path)) continue
    found.add(path)
    const file = tree.resolve(path)
    if (file === undefined) throw new ImageFault('input_missing', `${path} is not in the tree`)
    found.add(file)
    const elf = tree.elf(file)
    for (const name of elf?.needed ?? []) pending.push(libraryPath(tree, name, path))
  }
  return found
}

/** Where the tree has a library of this name. Throws `input_missing`. */
export function libraryPath(tree: Tree, name: string, user: string): string {
  const folder = LIBRARY_FOLDERS.find((each) => tree.has(`${each}/${name}`))
  if (folder === undefined)
    throw new ImageFault('input_missing', `${user} needs ${name}, which no package brings`)
  return `${folder}/${name}`
}

/** Removes the libraries that neither a program nor a pattern keeps. */
export function pruneLibraries(tree: Tree, programs: readonly string[], patterns: readonly string[]): void {
  const all = ['usr/lib/x86_64-linux-gnu', 'usr/lib/systemd']
    .flatMap((folder) => tree.entries(folder))
    .filter(({ path, stats }) => !stats.isDirectory() && isLibrary(path))
  const named = all.filter(({ path }) => patterns.some((pattern) => matchesGlob(basename(path), pattern)))
  const kept = closure(tree, [
    LOADER,
    ...programs,
    ...named.filter((each) => tree.resolve(each.path)).map((each) => each.path),
  ])
  for (const { path } of all) if (!kept.has(path)) tree.remove(path)
}

/** Removes links that lead to nothing, until none is left, then folders of /usr that became empty. */
export function pruneLinks(tree: Tree, readLink: (path: string) => string): void {
  for (let removed = 1; removed > 0;) {
    const dangling = tree
      .entries()
      .filter(({ path, stats }) => stats.isSymbolicLink() && tree.resolve(path) === undefined)
      .filter(({ path }) => !RUNTIME_TARGET.test(readLink(path)))
    for (const { path } of dangling) tree.remove(path)
    removed = dangling.length
  }
}
