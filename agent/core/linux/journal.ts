/**
 * Logs of the real host: what journald keeps, read by one journalctl for each reader; and core's audit log, which is a file on STATE.
 *
 * Invariants: a reader that is slow makes its journalctl wait; one that leaves takes its journalctl along; only so many read at a time.
 */
import { existsSync } from 'node:fs'
import type { Clock } from '#kit/clock'
import { RpcFault } from '#rpc'
import { LineCutter } from '../local/line-cutter.ts'
import { fileLogs } from '../local/logs.ts'
import type { LogChunk, LogPort, LogQuery } from '../ports.ts'
import { LinuxFault } from './fault.ts'
import type { Programs } from './run.ts'
import { UNITS } from './service.ts'

const MAX_READERS = 16
/** Each boot of a machine whose firmware has no identity has another machine id, and so a folder of its own: all of them are looked at. */
const KEPT = '/var/log/journal'
const UNIT_FOLDERS: readonly string[] = [
  '/etc/systemd/system',
  '/run/systemd/system',
  '/usr/lib/systemd/system',
]

/** Returns the port. Readers beyond the sixteenth are refused with `log_readers_exhausted`. */
export function journalLogs(options: {
  readonly programs: Programs
  readonly bootId: string
  /** Folder of the audit log. */
  readonly audit: string
  readonly clock: Clock
  readonly hasUnit?: (unit: string) => boolean
}): LogPort {
  const { programs, bootId, audit, clock } = options
  const hasUnit =
    options.hasUnit ?? ((unit) => UNIT_FOLDERS.some((folder) => existsSync(`${folder}/${unit}`)))
  const auditLogs = fileLogs({ log: audit, audit }, clock)
  let readers = 0

  async function* read(what: readonly string[], query: LogQuery): AsyncGenerator<LogChunk> {
    if (readers >= MAX_READERS) {
      throw new RpcFault('resource_exhausted', 'log_readers_exhausted', 'too many logs are being read', {
        hint: 'end another reading first',
      })
    }
    readers += 1
    try {
      yield* cutLines(programs.stream('journalctl', [...journalArguments(query, bootId), ...what], query))
    } catch (error) {
      // journalctl ends with an error when there is no previous boot; the log of a boot that is not kept has no lines.
      if (!(query.previousBoot && error instanceof LinuxFault && error.code === 'program_failed')) throw error
    } finally {
      readers -= 1
    }
  }
  return {
    names: () => [
      ...Object.entries(UNITS)
        .filter(([, { unit, optional }]) => !optional || hasUnit(unit))
        .map(([name]) => name),
      'audit',
    ],
    read: (name, query) => {
      if (name === 'audit') return auditLogs.read(name, query)
      const unit = UNITS[name]?.unit
      if (unit === undefined) throw new RpcFault('not_found', 'log_unknown', 'there is no log of that name')
      return read([`--unit=${unit}`, '--output=cat'], query)
    },
    readKernel: (query) => read(['--dmesg', '--output=short-monotonic', '--no-hostname'], query),
  }
}

/** Returns the arguments of journalctl for `query`, which `bootId` names the current boot of (journalctl(1)). Pure. */
export function journalArguments(
  query: Pick<LogQuery, 'follow' | 'tailLines' | 'previousBoot'>,
  bootId: string,
): readonly string[] {
  return [
    ...['--quiet', '--no-pager', '--all'],
    `--lines=${query.tailLines === 0 ? 'all' : query.tailLines}`,
    // By its id: until journald has moved to STATE, the newest boot on STATE is the one before.
    ...(query.previousBoot ? [`--directory=${KEPT}`, '--boot=-1'] : [`--boot=${bootId.replaceAll('-', '')}`]),
    ...(query.follow && !query.previousBoot ? ['--follow'] : []),
  ]
}

async function* cutLines(pieces: AsyncIterable<Buffer>): AsyncGenerator<LogChunk> {
  const cutter = new LineCutter({ skipLines: 0 })
  for await (const piece of pieces) {
    const lines = cutter.take(piece)
    if (lines !== undefined) yield { lines, dropped: 0 }
  }
  const rest = cutter.end()
  if (rest !== undefined) yield { lines: rest, dropped: 0 }
}
