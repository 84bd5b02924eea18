/** `core --platform local --directory DIR --name NAME --address IP --gateway-port N --trust-port N --user-data SOURCE`: see README. */
import { systemClock } from '#kit/clock'
import { Lifetime } from '#kit/lifetime'
import { createLog } from '#kit/log'
import { notifyReady, onSupervisorGone } from '#kit/supervised'
import { startCore } from './core.ts'
import { CoreFault } from './fault.ts'
import { parseCoreFlags } from './flags.ts'
import { loadPeerCheck } from './peer.ts'
import { VERSION } from './version.ts'

/** Longer than the doors take to drain; then the process ends whatever still hangs. */
const STOP_DEADLINE_MS = 4_800

async function main(): Promise<void> {
  process.umask(0o077)
  const log = createLog('core')
  const stop = new AbortController()
  const flags = parseCoreFlags(process.argv.slice(2), process.getuid?.() ?? 0)
  let ending = false
  const lifetime = new Lifetime()
  const end = (why: string) => {
    if (ending) return
    ending = true
    log.info('core stops', { why })
    setTimeout(() => process.exit(1), STOP_DEADLINE_MS).unref()
    stop.abort(new Error('core stops'))
    void lifetime[Symbol.asyncDispose]().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error('core did not stop in order', { error })
        process.exit(1)
      },
    )
  }
  process.on('SIGTERM', () => end('SIGTERM'))
  process.on('SIGINT', () => end('SIGINT'))
  onSupervisorGone(() => end('supervisor gone'))
  lifetime.use(
    await startCore({
      flags,
      version: VERSION,
      peer: loadPeerCheck(),
      clock: systemClock,
      log,
      signal: stop.signal,
    }),
  )
  log.info('core ready', { node: flags.name })
  notifyReady()
}

main().catch((error: unknown) => {
  const sentence = error instanceof CoreFault ? `${error.message} [${error.code}]` : 'core cannot start'
  createLog('core').error(sentence, { error })
  process.exit(1)
})
