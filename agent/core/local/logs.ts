import { join } from 'node:path'
import type { Clock } from '#kit/clock'
import type { LogPort } from '../ports.ts'
import { readLogFiles, type LogFiles } from './log-file-reader.ts'

const SERVICES = ['core', 'gateway', 'trust'] as const

/** The log files that init writes, and the audit log that core keeps on STATE. */
export function fileLogs(
  directories: { readonly log: string; readonly audit: string },
  clock: Clock,
): LogPort {
  return {
    names: () => [...SERVICES, 'audit'],
    read: (name, query) =>
      readLogFiles(filesOf(name === 'audit' ? directories.audit : directories.log, name), query, clock),
    readKernel: (query) => readLogFiles(filesOf(directories.log, 'kernel'), query, clock),
  }
}

function filesOf(directory: string, name: string): LogFiles {
  const path = (suffix: string) => join(directory, `${name}${suffix}.log`)
  return {
    current: path(''),
    older: path('.older'),
    previous: path('.previous'),
    previousOlder: path('.previous.older'),
  }
}
