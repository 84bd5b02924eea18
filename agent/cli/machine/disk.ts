/** The disk of a machine: a copy of the image's, as large as the machine is to see it. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { rename, rm, truncate } from 'node:fs/promises'
import { promisify } from 'node:util'
import { CliFault } from '../fault.ts'

export type DiskOptions = {
  readonly from: string
  readonly to: string
  readonly giB: number
  readonly signal: AbortSignal
}

const run = promisify(execFile)

/**
 * Copies a disk unless it is there; it appears whole or not at all. Throws CliFault `file_unwritable` with what the system said, and leaves nothing
 * of the copy on a disk that is full; or the signal's reason.
 */
export async function copyDisk({ from, to, giB, signal }: DiskOptions): Promise<void> {
  if (existsSync(to)) return
  const partial = `${to}.partial`
  try {
    await rm(partial, { force: true })
    // A process of its own: Node has no copy that keeps holes and can be interrupted.
    await run('cp', ['--sparse=always', '--reflink=auto', from, partial], { signal })
    await truncate(partial, giB * 1024 ** 3)
    await rename(partial, to)
  } catch (cause) {
    await rm(partial, { force: true })
    signal.throwIfAborted()
    throw new CliFault('file_unwritable', `the disk ${to} cannot be made: ${reasonOf(cause)}`, {
      hint: 'name another folder by XDG_STATE_HOME, on a disk that has room',
      cause,
    })
  }
}

function reasonOf(cause: unknown): string {
  const said = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim() : ''
  const last = said.split('\n').at(-1) ?? ''
  return last === '' ? 'the copy failed' : last.slice(0, 500)
}
