/**
 * Attempts that the system must refuse.
 *
 * Invariants: what an attempt changes is undone before it is told; no attempt is made where it would prove nothing.
 *
 * Core has a mount namespace of its own, so a refusal there could be that of its sandbox alone. A file is therefore made by way of /proc/1/root,
 * which resolves in the namespace of the first process (proc_pid_root(5)), and the remount is one of the file system itself, not of one mount of it:
 * its read-only flag is shared by all namespaces (mount(2), MS_REMOUNT without MS_BIND).
 */
import koffi from 'koffi'
import { randomBytes } from 'node:crypto'
import { closeSync, constants, openSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { getSystemErrorName } from 'node:util'
import type { Probe } from '../../ports.ts'

const MS_RDONLY = 1
const MS_REMOUNT = 32

/** Changes the flags of the file system at `/`; returns the name of the error, or nothing. */
export type Remount = (flags: number) => string

/** Tries to make a file in the folder `path` of the root `root`. */
export function probeCreate(path: string, root = '/proc/1/root'): Probe {
  const file = join(root, path, `.stele-probe-${randomBytes(6).toString('hex')}`)
  try {
    closeSync(openSync(file, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600))
  } catch (error) {
    return { action: 'create', path, error: codeOf(error) }
  }
  unlinkSync(file)
  return { action: 'create', path, error: '' }
}

/** Tries to make the file system at / writable; one that is so already is not touched, and told as a success. */
export function probeRemount(isReadOnly: boolean, remount: Remount = loadRemount()): Probe {
  if (!isReadOnly) return { action: 'remount', path: '/', error: '' }
  const error = remount(MS_REMOUNT)
  if (error === '') remount(MS_REMOUNT | MS_RDONLY)
  return { action: 'remount', path: '/', error }
}

/** mount(8) would say no more than a sentence; the number of the error tells a sandbox (EPERM) from a read-only device (EACCES). */
function loadRemount(): Remount {
  const mount = koffi
    .load('libc.so.6')
    .func('int mount(const char *, const char *, const char *, unsigned long, const void *)')
  return (flags) => (mount(null, '/', null, flags, null) === 0 ? '' : getSystemErrorName(-koffi.errno()))
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'UNKNOWN'
}
