/**
 * Name, kernel settings and files of the real host.
 *
 * Invariants: a setting is only ever written below /proc/sys, a file only below the folders that a configuration may name, whatever links lie on the
 * way; what the kernel refuses is told and never keeps the API away.
 */
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { ALLOWED_FOLDERS } from '#config'
import { CoreFault } from '../fault.ts'
import type { HostPort } from '../ports.ts'
import { writeAtomic } from '../store/atomic.ts'
import type { FileSystem } from '../store/file-system.ts'

export type LinuxHostOptions = {
  readonly files: FileSystem
  /** Called after each run with the names of the settings that could not be made. */
  readonly onRefused: (settings: readonly string[]) => void
  readonly settingsRoot?: string
  readonly allowed?: readonly string[]
}

/** Returns the port. */
export function linuxHost(options: LinuxHostOptions): HostPort {
  const { files, onRefused, settingsRoot = '/proc/sys', allowed = ALLOWED_FOLDERS } = options
  return {
    applySettings: ({ hostname, sysctls }) => {
      const wanted = [['kernel.hostname', hostname], ...Object.entries(sysctls)] as const
      onRefused(
        wanted.filter(([name, value]) => !applySetting(settingsRoot, name, value)).map(([name]) => name),
      )
    },
    writeFiles: (list) => {
      for (const file of list) {
        const folder = allowed.find((one) => file.path.startsWith(`${one}/`))
        if (folder === undefined || file.path.split('/').includes('..')) throw refused()
        try {
          writeBelow(files, folder, file)
        } catch (cause) {
          throw cause instanceof CoreFault ? cause : refused(cause)
        }
      }
    },
  }
}

/**
 * Returns the file of a kernel setting below /proc/sys, or undefined for a name that is none. As sysctl(8): the first separator decides which of
 * `.` and `/` separates; the other one is then part of a name, as in `net.ipv4.conf.eth0/100.forwarding`. Pure.
 */
export function settingPath(name: string): string | undefined {
  if (!/^[\w-]+(?:[./][\w-]+)+$/.test(name)) return undefined
  if (/^[\w-]+\//.test(name)) return name
  const swapped: Readonly<Record<string, string>> = { '.': '/', '/': '.' }
  return name.replace(/[./]/g, (separator) => swapped[separator] ?? separator)
}

function applySetting(root: string, name: string, value: string): boolean {
  const path = settingPath(name)
  if (path === undefined) return false
  try {
    const target = realpathSync(join(root, path))
    if (!target.startsWith(realpathSync(root) + sep)) return false
    // Not written again: some settings act each time they are written.
    if (readSetting(target) === value) return true
    writeFileSync(target, `${value}\n`)
    return true
  } catch {
    return false
  }
}

function readSetting(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    // Some settings can only be written.
    return undefined
  }
}

function writeBelow(
  files: FileSystem,
  folder: string,
  file: { readonly path: string; readonly content: Buffer; readonly mode: number },
): void {
  const parent = dirname(file.path)
  if (!existsSync(parent)) mkdirSync(parent, { recursive: true, mode: 0o755 })
  const inside = realpathSync(folder)
  if (!(realpathSync(parent) + sep).startsWith(inside + sep)) throw refused()
  writeAtomic(files, file.path, file.content, file.mode)
}

function refused(cause?: unknown): CoreFault {
  return new CoreFault('file_refused', 'a configured file cannot be written at its place on this host', {
    cause,
  })
}
