/** What a process, a file system and the machine use, from the kernel's own text (proc(5), statfs(2)). */
import { readFileSync, statfsSync } from 'node:fs'
import { freemem, totalmem } from 'node:os'
import type { FileSystemUse, ResourceUse } from './ports.ts'

/** Ticks of processor time a second in /proc, the same on every Linux that user space sees. */
const TICKS_PER_SECOND = 100

/** Returns what the process uses; nothing known when it is gone or the system has no /proc. */
export function processUse(pid: number): {
  readonly residentBytes: number | undefined
  readonly processorMs: number | undefined
} {
  return {
    residentBytes: residentBytes(textOf(`/proc/${pid}/status`)),
    processorMs: processorMs(textOf(`/proc/${pid}/stat`)),
  }
}

/** Bytes of `VmRSS` in /proc/PID/status. Pure. */
export function residentBytes(status: string): number | undefined {
  const [, kibibytes] = /^VmRSS:\s+(\d{1,15}) kB$/m.exec(status) ?? []
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024
}

/** Milliseconds of user and system time in /proc/PID/stat: fields 14 and 15, after a name that may hold anything. Pure. */
export function processorMs(stat: string): number | undefined {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = Number(fields[11]) + Number(fields[12])
  return Number.isFinite(ticks) ? (ticks * 1000) / TICKS_PER_SECOND : undefined
}

/** Memory of the machine: `MemAvailable` where the kernel tells it, else what is free. */
export function memoryUse(meminfo = textOf('/proc/meminfo')): ResourceUse['memory'] {
  const bytes = (name: string) => {
    const [, kibibytes] = new RegExp(`^${name}:\\s+(\\d{1,15}) kB$`, 'm').exec(meminfo) ?? []
    return kibibytes === undefined ? undefined : Number(kibibytes) * 1024
  }
  return {
    totalBytes: bytes('MemTotal') ?? totalmem(),
    availableBytes: bytes('MemAvailable') ?? freemem(),
  }
}

/** Room of the file system that holds `path`. Throws what statfs(2) does. */
export function fileSystemUse(path: string): FileSystemUse {
  const { bsize, blocks, bavail, files, ffree } = statfsSync(path)
  return {
    path,
    totalBytes: blocks * bsize,
    availableBytes: bavail * bsize,
    totalInodes: files,
    availableInodes: ffree,
  }
}

export function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
