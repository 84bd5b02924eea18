/** Trust as a process: flags, identity, signals. See README.md. */
import { systemClock } from '#kit/clock'
import { createLog, type Log } from '#kit/log'
import { notifyReady, onSupervisorGone } from '#kit/supervised'
import { identitiesOf } from '#rpc'
import { readFlags } from './flags.ts'
import { startTrust, type Trust } from './server.ts'

async function main(): Promise<void> {
  const log = createLog('trust')
  const stop = new AbortController()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort())
  onSupervisorGone(() => stop.abort())
  try {
    await run(log, stop.signal)
    log.info('trust stopped')
    process.exit(0)
  } catch (error) {
    log.error('trust failed', { error })
    process.exit(1)
  }
}

async function run(log: Log, signal: AbortSignal): Promise<void> {
  const flags = readFlags(process.argv.slice(2))
  let trust: Trust | undefined
  try {
    for await (const identity of identitiesOf({ path: flags.identity, clock: systemClock, log, signal })) {
      if (trust === undefined) {
        trust = await startTrust({ ...flags, identity, log, clock: systemClock })
        log.info('trust listens', { endpoints: trust.endpoints })
        notifyReady()
      } else {
        trust.reload(identity)
        log.info('identity replaced')
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
  await trust?.drain(flags.graceMs)
}

void main()
