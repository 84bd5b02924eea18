/** Everything that core keeps on STATE, opened in one place. */
import { join, relative } from 'node:path'
import type { Clock } from '#kit/clock'
import type { Log } from '#kit/log'
import { Audit } from './audit.ts'
import { BootRecord, bootRecordSchema } from './boot/boot-record.ts'
import { TrustBook, trustBookMarkerSchema, trustBookSchema } from './credential/trust-book.ts'
import { EventLog } from './event-log.ts'
import { IdentityStore } from './identity/identity-store.ts'
import { Operations, operationsSchema } from './operation.ts'
import type { Loss } from './machine/state.ts'
import type { BootInfo } from './ports.ts'
import { atBoot, atRestart, committedSchema, nothingCommitted, type Committed } from './store/committed.ts'
import type { FileSystem } from './store/file-system.ts'
import { JsonFile, type Stored } from './store/json-file.ts'

export type State = {
  readonly audit: Audit
  readonly book: TrustBook
  readonly boots: BootRecord
  readonly configuration: JsonFile<Committed>
  readonly committed: Committed
  /** `trial` when a trial was found and ended, `staged` when a staged version came into force. */
  readonly recovered: readonly ('trial' | 'staged')[]
  /** Set when there was a configuration and none is left; `committed` then goes on with numbers that were never used. */
  readonly loss: Loss | undefined
  /** Paths below STATE of what was found damaged, so far. */
  damaged(): readonly string[]
  readonly events: EventLog
  readonly identities: IdentityStore
  readonly operations: Operations
}

/** Returns what is on STATE, with an interrupted trial ended and, in a new boot, a staged configuration in force. */
export function openState(options: {
  readonly directory: string
  readonly files: FileSystem
  readonly clock: Clock
  readonly log: Log
  readonly boot: BootInfo
}): State {
  const { directory, files, clock, log, boot } = options
  const at = (...parts: string[]) => join(directory, ...parts)
  const bootId = () => boot.bootId
  const bootFile = new JsonFile(files, at('boot', 'boot.json'), bootRecordSchema)
  const boots = new BootRecord(bootFile)
  const events = new EventLog({ files, directory: at('events'), clock, bootId })
  const configuration = new JsonFile(files, at('config', 'config.json'), committedSchema)
  const { found, loss } = whatIsCommitted(configuration.read(), events)
  const committed = boots.isNew(boot.bootId) ? atBoot(found) : atRestart(found)
  // The configuration first: a crash before the boot is recorded repeats this, and it has no second effect.
  if (committed !== found) configuration.write(committed)
  if (boots.isNew(boot.bootId)) boots.setBoot(boot.bootId)
  const bookFile = new JsonFile(files, at('trust', 'book.json'), trustBookSchema)
  const marker = new JsonFile(files, at('boot', 'trust-book.json'), trustBookMarkerSchema)
  const operationsFile = new JsonFile(files, at('operations', 'operations.json'), operationsSchema)
  const identities = new IdentityStore(files, at('identity'))
  const kept = [bootFile, events, configuration, bookFile, marker, operationsFile, identities]
  return {
    audit: new Audit({ directory: at('log'), log, clock }),
    book: new TrustBook(bookFile, clock, marker),
    boots,
    configuration,
    committed,
    recovered: [
      ...(found.kind === 'trial' ? ['trial' as const] : []),
      ...(found.kind === 'pending' && committed !== found ? ['staged' as const] : []),
    ],
    loss,
    damaged: () => kept.flatMap((one) => one.damaged).map((path) => relative(directory, path)),
    events,
    identities,
    operations: new Operations({ file: operationsFile, clock, bootId }),
  }
}

/**
 * What STATE says is committed. Damage of both copies, and files that are gone although an event tells of a revision, are a loss: events are
 * written after the commit, so that a crash in between never looks like one.
 */
function whatIsCommitted(
  stored: Stored<Committed>,
  events: EventLog,
): { readonly found: Committed; readonly loss: Loss | undefined } {
  if ('value' in stored) return { found: stored.value, loss: undefined }
  const told = events.kept.flatMap(({ details }) => Number(details['revision'] ?? []))
  if (stored.kind === 'absent' && told.length === 0) return { found: nothingCommitted, loss: undefined }
  // One more: the event of the last commit may have been lost with a crash. Without any, no more were committed than there were events.
  const counter = (told.length > 0 ? Math.max(...told) : events.lastSequence) + 1
  return { found: { kind: 'none', counter }, loss: 'configuration_lost' }
}
