/** What each step of the machine does. Every one may be run again after a crash at any of its lines. */
import { backoff } from '#kit/retry'
import { importCredential } from '../credential/import-credential.ts'
import type { TrustBook } from '../credential/trust-book.ts'
import { CoreFault } from '../fault.ts'
import { readIdentity } from '../identity/held.ts'
import type { IdentityStore, NodeKey } from '../identity/identity-store.ts'
import { classify, obtainCertificate } from '../identity/obtain.ts'
import { publishIdentity } from '../identity/publish.ts'
import type { Step } from '../machine/decide.ts'
import { quarantineOf } from '../machine/quarantine.ts'
import type { Executors } from '../machine/run.ts'
import type { Node } from '../node.ts'
import { viewOf } from '../node-view.ts'
import type { HostFile } from '../ports.ts'
import { revert } from '../store/committed.ts'
import type { FileSystem } from '../store/file-system.ts'
import { readUserData, type Delivered } from '../user-data.ts'
import { acceptUserData, takeChangedUserData } from './accept-user-data.ts'
import type { BootRecord } from './boot-record.ts'

export type ExecutorOptions = {
  readonly node: Node
  readonly key: NodeKey
  readonly identities: IdentityStore
  readonly book: TrustBook
  readonly files: FileSystem
  readonly bootRecord: BootRecord
  readonly paths: { readonly gatewayIdentity: string; readonly trustIdentity: string }
}

const SOURCE_RETRY = { firstDelayMs: 1_000, maxDelayMs: 60_000, attempts: Number.POSITIVE_INFINITY }
const AWAY_RETRY = { firstDelayMs: 400, maxDelayMs: 15_000, attempts: Number.POSITIVE_INFINITY }
/** A refusal is ended by a person; asking more often only fills the log of the control plane. */
const REFUSED_RETRY = { firstDelayMs: 60_000, maxDelayMs: 600_000, attempts: Number.POSITIVE_INFINITY }

export function createExecutors(options: ExecutorOptions): Executors {
  const { node } = options
  const attempts = { source: 0, identity: 0 }
  return {
    'revert-trial': () => {
      if (node.committed.kind !== 'trial') return
      node.commit(revert(node.committed))
      node.events.emit({
        code: 'config.reverted',
        message: 'The trial of a configuration ended and the one before it is in force.',
      })
    },
    'read-user-data': async (_step, signal) => {
      const delivered = await readUserData(node.ports.userData, { clock: node.clock, signal })
      node.setSources(delivered.sources)
      // An administrator may have applied a configuration while the sources were read.
      if (node.active !== undefined) return
      if (delivered.used === undefined) {
        node.userDataDueAt =
          node.clock.now().getTime() + backoff(attempts.source, SOURCE_RETRY, Math.random())
        attempts.source += 1
        enterQuarantine(node, delivered)
        return
      }
      attempts.source = 0
      acceptUserData(node, options.bootRecord, delivered.used.document)
    },
    'apply-host': async () => {
      const active = node.active
      if (active === undefined) return
      node.ports.host.applySettings(active.view.host)
      writeFiles(node, active.view.files)
      if (active.view.role === 'control-plane') await importCredential(options.book, active.parsed)
      node.hostRevision = active.version.revision
    },
    'obtain-identity': async (step, signal) => {
      try {
        await obtain(step, options, signal)
        attempts.identity = 0
      } catch (error) {
        signal.throwIfAborted()
        const fault = classify(error)
        const refused = fault.code === 'identity_refused'
        const delay = backoff(attempts.identity, refused ? REFUSED_RETRY : AWAY_RETRY, Math.random())
        attempts.identity += 1
        node.identityRetryAt = node.clock.now().getTime() + delay
        node.log.warn('no certificate obtained', { how: step.kind, retryInMs: delay, error: fault })
        const remedy =
          fault.hint ?? (refused ? 'correct the configuration' : 'check the control planes and the network')
        node.setFinding(fault.code, { message: fault.message, remedy })
        node.setFinding(refused ? 'identity_unreachable' : 'identity_refused', undefined)
        if (refused) await takeChangedUserData(node, options.bootRecord, { signal })
      }
    },
    'publish-identity': () => {
      const { identity, view } = node
      if (identity === undefined) return
      const content = { node: node.name, key: options.key, certificate: identity.stored }
      publishIdentity(options.files, options.paths.gatewayIdentity, content)
      if (view?.authorityKey !== undefined)
        publishIdentity(options.files, options.paths.trustIdentity, content)
      node.publishedSerial = identity.serial
      node.log.info('identity published', {
        serial: identity.serial,
        notAfter: identity.notAfter.toISOString(),
      })
    },
    'start-trust': async (_step, signal) => {
      await node.ports.services.start('trust', { signal })
      node.trustStarted = true
    },
    enter: (step) => {
      if (step.state === 'running') node.enter({ kind: 'running' })
      else node.enter(quarantineOf(node.loss, node.lossReason))
    },
  }
}

/** A file that cannot be written is a finding and no reason to keep the node's API away. */
function writeFiles(node: Node, files: readonly HostFile[]): void {
  try {
    node.ports.host.writeFiles(files)
    node.setFinding('file_refused', undefined)
  } catch (error) {
    if (!(error instanceof CoreFault)) throw error
    node.setFinding(error.code, { message: error.message, remedy: 'correct files in the configuration' })
  }
}

async function obtain(
  step: Extract<Step, { kind: 'obtain-identity' }>,
  options: ExecutorOptions,
  signal: AbortSignal,
): Promise<void> {
  const { node, key, identities } = options
  const view = node.view
  if (view === undefined) return
  const { clock, machine } = node
  const present = step.how === 'renew' ? node.identity?.stored : undefined
  const certificate = await obtainCertificate({
    view,
    key,
    addresses: machine.addresses,
    clock,
    signal,
    present,
  })
  identities.keep(certificate)
  node.setIdentity(readIdentity(certificate, { now: clock.now(), jitter: Math.random() }))
  node.setFinding('identity_refused', undefined)
  node.setFinding('identity_unreachable', undefined)
  node.events.emit({
    code: step.how === 'renew' ? 'identity.renewed' : 'identity.issued',
    message: 'The node holds a new certificate.',
    details: { serial: node.identity?.serial ?? '', notAfter: node.identity?.notAfter.toISOString() ?? '' },
  })
}

function enterQuarantine(node: Node, delivered: Delivered): void {
  const reasons = delivered.sources.flatMap((source) =>
    source.reasons.length > 0 ? source.reasons : [`no configuration delivered by ${source.kind}`],
  )
  node.setPartial(delivered.partial === undefined ? undefined : viewOf(delivered.partial, node.machine))
  node.enter({
    kind: 'quarantine',
    code: 'user_data',
    reasons: reasons.length > 0 ? reasons : ['there is no source of user data'],
  })
}
