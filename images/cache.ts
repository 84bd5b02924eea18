/**
 * Outputs of steps by key, under one folder.
 *
 * Invariants: an output appears by one rename, so a build that was killed leaves either the whole of it or nothing; what a killed build left
 * half made is removed by the next one; one build at a time holds the folder.
 */
import {
  existsSync,
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
import { ImageFault } from './fault.ts'

/** Outputs of one step that are kept: this build's and the one before it. */
const KEPT = 2
const PARTIAL = /\.partial$/

export class Cache implements Disposable {
  readonly folder: string

  /** Takes the folder, and clears what a killed build left. Throws ImageFault `busy` while another build that lives holds it. */
  constructor(folder: string) {
    mkdirSync(folder, { recursive: true })
    // Its own path, where a link leads to it: inside the tools tree the link leads nowhere.
    this.folder = realpathSync(folder)
    takeLock(join(folder, 'lock'))
    for (const step of this.#steps()) {
      for (const name of readdirSync(join(folder, step)).filter((each) => PARTIAL.test(each))) {
        rmSync(join(folder, step, name), { recursive: true, force: true })
      }
    }
  }

  /** Where the output of `step` under `key` is, or would be. */
  path(step: string, key: string): string {
    return join(this.folder, step, key.slice(0, 16))
  }

  has(step: string, key: string): boolean {
    return existsSync(this.path(step, key))
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
    const stale = others.filter((name) => !order.slice(0, KEPT).includes(name) && name !== '.use')
    for (const name of stale) rmSync(join(this.folder, step, name), { recursive: true, force: true })
    writeFileSync(join(this.folder, step, '.use'), order.slice(0, KEPT).join('\n'))
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

function readUse(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8').split('\n')
  } catch {
    return []
  }
}

function takeLock(file: string): void {
  for (;;) {
    try {
      writeFileSync(file, String(process.pid), { flag: 'wx' })
      return
    } catch (cause) {
      const holder = Number(readUse(file)[0])
      if (isAlive(holder)) {
        throw new ImageFault('busy', `another build (process ${holder}) uses this cache`, {
          hint: 'wait for it, or name another folder with --cache',
          cause,
        })
      }
      rmSync(file, { force: true })
    }
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
