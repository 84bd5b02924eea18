/** `core --platform local|linux --directory DIR --gateway-port N --trust-port N …`: flags.ts has them all. */
import { readFileSync } from 'node:fs'
import { systemClock } from '#kit/clock'
import { Lifetime } from '#kit/lifetime'
import { createLog } from '#kit/log'
import { notifyReady, onSupervisorGone } from '#kit/supervised'
import { startCore } from './core.ts'
import { CoreFault } from './fault.ts'
import { parseCoreFlags } from './flags.ts'
import { accountsIn } from './linux/account.ts'
import { keepAlive, openNotify } from './linux/notify.ts'
import { loadPeerCheck } from './peer.ts'
import { VERSION } from './version.ts'

/** Longer than the doors take to drain; then the process ends whatever still hangs. */
const STOP_DEADLINE_MS = 4_800

async function main(): Promise<void> {
  process.umask(0o077)
  const log = createLog('core')
  const stop = new AbortController()
  const notify = openNotify(process.env['NOTIFY_SOCKET'])
  const flags = parseCoreFlags(process.argv.slice(2), process.getuid?.() ?? 0, uidOf)
  let ending = false
  const lifetime = new Lifetime()
  const end = (why: string) => {
    if (ending) return
    ending = true
    log.info('core stops', { why })
    notify('STOPPING=1')
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
  log.info('core ready')
  notifyReady()
  notify('READY=1')
  await keepAlive(notify, {
    watchdogUsec: process.env['WATCHDOG_USEC'],
    clock: systemClock,
    signal: stop.signal,
  })
}

function uidOf(name: string): number | undefined {
  return accountsIn(readFileSync('/etc/passwd', 'utf8')).find((account) => account.name === name)?.uid
}

main().catch((error: unknown) => {
  const sentence = error instanceof CoreFault ? `${error.message} [${error.code}]` : 'core cannot start'
  createLog('core').error(sentence, { error })
  process.exit(1)
})
