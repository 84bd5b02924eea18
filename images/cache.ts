/**
 * Outputs of steps by key, under one folder.
 *
 * Invariants: an output appears by one rename, so a build that was killed leaves either the whole of it or nothing; what a killed build left
 * half made is removed by the next one; one build at a time holds the folder; a folder without our tag is never written to nor cleared.
 */
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '#kit/fault'
import { makeFolder } from '#kit/folder'
import { ImageFault } from './fault.ts'

/** Outputs of one step that are kept: this build's and the one before it. */
const KEPT = 2
const PARTIAL = /\.partial$/
const KEY = /^[0-9a-f]{16}$/
const TAG = 'CACHEDIR.TAG'
/** The signature is that of https://bford.info/cachedir/, by which backups skip the folder; the second line tells our caches from others. */
const TAG_TEXT = `Signature: 8a477f597d28d172789f06886806bc55
# Cache of image builds (https://bford.info/cachedir/).
`

export class Cache implements Disposable {
  readonly folder: string

  /**
   * Takes the folder, and clears what a killed build left. Throws ImageFault `busy` while another build that lives holds it, and `refused` when
   * it holds files but is no cache of ours, or takes no files.
   */
  constructor(folder: string) {
    try {
      makeFolder(folder)
      // Its own path, where a link leads to it: inside the tools tree the link leads nowhere.
      this.folder = realpathSync(folder)
      claim(this.folder)
      takeLock(join(this.folder, 'lock'))
    } catch (cause) {
      throw cause instanceof ImageFault ? cause : unusable(folder, cause)
    }
    for (const step of this.#steps()) {
      for (const name of readdirSync(join(folder, step)).filter((each) => PARTIAL.test(each))) {
        rmSync(join(folder, step, name), { recursive: true, force: true })
      }
    }
  }

  /** Where the output of `step` under `key` is, or would be. */
  path(step: string, key: string): string {
    return pathIn(this.folder, step, key)
  }

  has(step: string, key: string): boolean {
    return existsSync(this.path(step, key))
  }

  /** The same of a folder that need not be there and is not taken, for a build that is only asked about. */
  static has(folder: string, step: string, key: string): boolean {
    return existsSync(pathIn(folder, step, key))
  }

  /** Runs `make` on an empty folder and keeps that folder as the output of `step`; a `make` that throws leaves nothing. */
  async fill(step: string, key: string, make: (out: string) => Promise<void>): Promise<void> {
    // Named by process: a program that outlived a killed build writes on in a folder that is gone, not in ours.
    const partial = `${this.path(step, key)}.${process.pid}.partial`
    rmSync(partial, { recursive: true, force: true })
    mkdirSync(partial, { recursive: true })
    try {
      await make(partial)
      renameSync(partial, this.path(step, key))
    } catch (error) {
      rmSync(partial, { recursive: true, force: true })
      throw error
    }
  }

  /** Marks an output as used, and removes the outputs of that step that were used longest ago. */
  keep(step: string, key: string): void {
    const now = new Date()
    utimesSync(join(this.path(step, key)), now, now)
    const others = readdirSync(join(this.folder, step)).filter((name) => name !== key.slice(0, 16))
    const used = readUse(join(this.folder, step, '.use'))
    const order = [key.slice(0, 16), ...used.filter((name) => others.includes(name))]
    const stale = others.filter((name) => KEY.test(name) && !order.slice(0, KEPT).includes(name))
    for (const name of stale) rmSync(join(this.folder, step, name), { recursive: true, force: true })
    writeFileSync(join(this.folder, step, '.use.partial'), order.slice(0, KEPT).join('\n'))
    renameSync(join(this.folder, step, '.use.partial'), join(this.folder, step, '.use'))
  }

  /** Removes everything that builds left: outputs and downloads. */
  clear(): void {
    for (const step of this.#steps()) rmSync(join(this.folder, step), { recursive: true, force: true })
  }

  [Symbol.dispose](): void {
    rmSync(join(this.folder, 'lock'), { force: true })
  }

  #steps(): readonly string[] {
    return readdirSync(this.folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name)
  }
}

/** Tags a folder that is empty; throws `refused` for one that holds anything without our tag. */
function claim(folder: string): void {
  const tag = join(folder, TAG)
  const text = existsSync(tag) ? readFileSync(tag, 'utf8') : ''
  if (text === TAG_TEXT) return
  if (text !== '' || readdirSync(folder).some((name) => name !== TAG)) {
    throw new ImageFault('refused', `${folder} holds files, and is no cache of image builds`, {
      hint: `name a new or empty folder with --cache, or, if nothing in it is of worth, remove ${folder}`,
    })
  }
  writeFileSync(tag, TAG_TEXT)
}

function unusable(folder: string, cause: unknown): ImageFault {
  return new ImageFault(
    'refused',
    `the cache ${folder} takes no files: ${codeOf(cause) ?? 'unknown reason'}`,
    {
      hint: 'name a folder with --cache where you may make files, on a disk that has room',
      cause,
    },
  )
}

function pathIn(folder: string, step: string, key: string): string {
  return join(folder, step, key.slice(0, 16))
}

function readUse(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8').split('\n')
  } catch {
    return []
  }
}

/** The lock appears with the process in it, by a link: a build that is killed meanwhile, or a full disk, leaves none that is empty. */
function takeLock(file: string): void {
  const own = `${file}.${process.pid}`
  try {
    rmSync(own, { force: true })
    writeFileSync(own, String(process.pid), { flag: 'wx' })
    while (!isLinked(own, file)) {
      const holder = Number(readUse(file)[0])
      if (isAlive(holder)) {
        throw new ImageFault('busy', `another build (process ${holder}) uses this cache`, {
          hint: `wait for it, or name another folder with --cache; if that process is no build, remove ${file}`,
        })
      }
      rmSync(file, { force: true })
    }
  } finally {
    rmSync(own, { force: true })
  }
}

/** False when something is there already, which is the one reason to try again. */
function isLinked(own: string, file: string): boolean {
  try {
    linkSync(own, file)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0 || pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
