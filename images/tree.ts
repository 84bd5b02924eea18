/**
 * A directory tree that will be a root file system, seen from outside it.
 *
 * Invariants: paths are relative to the tree, without a leading slash, in byte order; a link is resolved inside the tree, never on the host.
 */
import {
  chmodSync,
  cpSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  type Stats,
} from 'node:fs'
import { dirname, join, matchesGlob, normalize } from 'node:path'
import { isLibrary } from '#kit/program-name'
import { readElf, type Elf } from './elf.ts'

export type Entry = { readonly path: string; readonly stats: Stats }

export { isLibrary }

export class Tree {
  readonly folder: string

  constructor(folder: string) {
    this.folder = folder
  }

  at(path: string): string {
    return join(this.folder, path)
  }

  /** True for anything at the path, a dangling link included. */
  has(path: string): boolean {
    return lstatSync(this.at(path), { throwIfNoEntry: false }) !== undefined
  }

  isLink(path: string): boolean {
    return lstatSync(this.at(path), { throwIfNoEntry: false })?.isSymbolicLink() ?? false
  }

  read(path: string): string {
    return readFileSync(this.at(path), 'utf8')
  }

  readBytes(path: string): Buffer {
    return readFileSync(this.at(path))
  }

  write(path: string, text: string | Buffer, mode = 0o644): void {
    mkdirSync(dirname(this.at(path)), { recursive: true })
    rmSync(this.at(path), { force: true })
    writeFileSync(this.at(path), text, { mode })
    chmodSync(this.at(path), mode)
  }

  link(path: string, target: string): void {
    mkdirSync(dirname(this.at(path)), { recursive: true })
    rmSync(this.at(path), { force: true })
    symlinkSync(target, this.at(path))
  }

  makeFolder(path: string, mode = 0o755): void {
    mkdirSync(this.at(path), { recursive: true })
    chmodSync(this.at(path), mode)
  }

  remove(path: string): void {
    rmSync(this.at(path), { recursive: true, force: true })
  }

  /** Removes everything that a glob of paths matches. */
  removeMatching(glob: string): void {
    if (!/[*?[{(]/.test(glob)) return this.remove(glob)
    const top = glob
      .split('/')
      .slice(
        0,
        glob.split('/').findIndex((part) => /[*?[{(]/.test(part)),
      )
      .join('/')
    for (const { path } of this.entries(top)) if (matchesGlob(path, glob)) this.remove(path)
  }

  /** Names in a folder, sorted; none when it is absent. */
  list(path: string): readonly string[] {
    return statSync(this.at(path), { throwIfNoEntry: false })?.isDirectory()
      ? readdirSync(this.at(path)).sort()
      : []
  }

  /** Everything below `top`, parents before children. */
  entries(top = ''): readonly Entry[] {
    const result: Entry[] = []
    const visit = (path: string) => {
      for (const name of this.list(path)) {
        const child = path === '' ? name : `${path}/${name}`
        const stats = lstatSync(this.at(child))
        result.push({ path: child, stats })
        if (stats.isDirectory()) visit(child)
      }
    }
    visit(top)
    return result
  }

  /** The path of what a link leads to inside the tree, with every folder on the way resolved; undefined when nothing is there. */
  resolve(path: string): string | undefined {
    const pending = path.split('/').filter((part) => part !== '')
    let found: string[] = []
    for (let links = 0; pending.length > 0;) {
      const part = pending.shift() ?? ''
      if (part === '.') continue
      if (part === '..') {
        found.pop()
        continue
      }
      const here = [...found, part].join('/')
      if (!this.isLink(here)) {
        found.push(part)
        continue
      }
      if (++links > 40) return undefined
      const target = readlinkSync(this.at(here))
      if (target.startsWith('/')) found = []
      pending.unshift(
        ...normalize(target)
          .split('/')
          .filter((each) => each !== ''),
      )
    }
    const result = found.join('/')
    return this.has(result) ? result : undefined
  }

  /** Facts of an ELF file; undefined for anything else. */
  elf(path: string): Elf | undefined {
    if (!statSync(this.at(path), { throwIfNoEntry: false })?.isFile()) return undefined
    return readElf(readFileSync(this.at(path)))
  }

  /** Copies a file, folder or link of another tree, with its mode and links unchanged. */
  copyFrom(source: Tree, path: string): void {
    mkdirSync(dirname(this.at(path)), { recursive: true })
    cpSync(source.at(path), this.at(path), {
      recursive: true,
      verbatimSymlinks: true,
      preserveTimestamps: true,
    })
  }

  /** Sets the time of everything, links included, so that it does not depend on when the tree was made. */
  setTimes(epoch: number): void {
    for (const { path } of [...this.entries()].reverse()) lutimesSync(this.at(path), epoch, epoch)
    lutimesSync(this.folder, epoch, epoch)
  }
}
