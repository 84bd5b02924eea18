/** The gateway as a process: flags, identity, signals. See README.md. */
import { systemClock } from '#kit/clock'
import { createLog, type Log } from '#kit/log'
import { notifyReady, onSupervisorGone } from '#kit/supervised'
import { identitiesOf } from '#rpc'
import { readFlags } from './flags.ts'
import { startGateway, type Gateway } from './server.ts'

async function main(): Promise<void> {
  const log = createLog('gateway')
  const stop = new AbortController()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort())
  onSupervisorGone(() => stop.abort())
  try {
    await run(log, stop.signal)
    log.info('gateway stopped')
    process.exit(0)
  } catch (error) {
    log.error('gateway failed', { error })
    process.exit(1)
  }
}

async function run(log: Log, signal: AbortSignal): Promise<void> {
  const flags = readFlags(process.argv.slice(2))
  let gateway: Gateway | undefined
  try {
    for await (const identity of identitiesOf({ path: flags.identity, clock: systemClock, log, signal })) {
      if (gateway === undefined) {
        gateway = await startGateway({ ...flags, identity, log, clock: systemClock })
        log.info('gateway listens', { endpoints: gateway.endpoints })
        notifyReady()
      } else {
        gateway.reload(identity)
        log.info('identity replaced')
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
  await gateway?.drain(flags.graceMs)
}

void main()
