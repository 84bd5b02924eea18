/** Everything that core keeps on STATE, opened in one place. */
import { join } from 'node:path'
import type { Clock } from '#kit/clock'
import type { Log } from '#kit/log'
import { Audit } from './audit.ts'
import { BootRecord, bootRecordSchema } from './boot/boot-record.ts'
import { TrustBook, trustBookMarkerSchema, trustBookSchema } from './credential/trust-book.ts'
import { EventLog } from './event-log.ts'
import { IdentityStore } from './identity/identity-store.ts'
import { Operations, operationsSchema } from './operation.ts'
import type { BootInfo } from './ports.ts'
import { atBoot, atRestart, committedSchema, nothingCommitted, type Committed } from './store/committed.ts'
import type { FileSystem } from './store/file-system.ts'
import { JsonFile } from './store/json-file.ts'

export type State = {
  readonly audit: Audit
  readonly book: TrustBook
  readonly boots: BootRecord
  readonly configuration: JsonFile<Committed>
  readonly committed: Committed
  /** `trial` when a trial was found and ended, `staged` when a staged version came into force, `damaged` when an older copy had to be used. */
  readonly recovered: readonly ('trial' | 'staged' | 'damaged')[]
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
  const boots = new BootRecord(new JsonFile(files, at('boot', 'boot.json'), bootRecordSchema))
  const configuration = new JsonFile(files, at('config', 'config.json'), committedSchema)
  const stored = configuration.read()
  const found = 'value' in stored ? stored.value : nothingCommitted
  const committed = boots.isNew(boot.bootId) ? atBoot(found) : atRestart(found)
  // The configuration first: a crash before the boot is recorded repeats this, and it has no second effect.
  if (committed !== found) configuration.write(committed)
  if (boots.isNew(boot.bootId)) boots.setBoot(boot.bootId)
  const damaged = stored.kind === 'previous' || stored.kind === 'damaged'
  return {
    audit: new Audit({ directory: at('log'), log, clock }),
    book: new TrustBook(
      new JsonFile(files, at('trust', 'book.json'), trustBookSchema),
      clock,
      new JsonFile(files, at('boot', 'trust-book.json'), trustBookMarkerSchema),
    ),
    boots,
    configuration,
    committed,
    recovered: [
      ...(found.kind === 'trial' ? ['trial' as const] : []),
      ...(found.kind === 'pending' && committed !== found ? ['staged' as const] : []),
      ...(damaged ? ['damaged' as const] : []),
    ],
    events: new EventLog({ files, directory: at('events'), clock, bootId }),
    identities: new IdentityStore(files, at('identity')),
    operations: new Operations({
      file: new JsonFile(files, at('operations', 'operations.json'), operationsSchema),
      clock,
      bootId,
    }),
  }
}
