import type { Node } from '../node.ts'
import type { ServiceInfo } from '../ports.ts'

const POLL_MS = 1_000

/** Makes an event of each change of a service, and wakes the watchers of the status. Runs until the signal aborts. */
export async function watchServices(node: Node, options: { readonly signal: AbortSignal }): Promise<void> {
  const { signal } = options
  let known: ReadonlyMap<string, ServiceInfo> | undefined
  while (!signal.aborted) {
    const waiting = AbortSignal.any([signal, AbortSignal.timeout(5_000)])
    const list = await node.ports.services.list({ signal: waiting }).catch(() => undefined)
    if (list !== undefined) {
      const changes = known === undefined ? [] : changesOf(known, list)
      for (const event of changes) node.events.emit(event)
      if (changes.length > 0) node.change.notify()
      known = new Map(list.map((service) => [service.name, service]))
    }
    await node.clock.sleep(POLL_MS, signal).catch(() => undefined)
  }
}

/** The events that tell the difference of two looks at the services. Pure. */
export function changesOf(
  known: ReadonlyMap<string, ServiceInfo>,
  list: readonly ServiceInfo[],
): readonly { readonly code: string; readonly message: string; readonly details: Record<string, string> }[] {
  return list.flatMap((service) => {
    const before = known.get(service.name)
    if (before === undefined || (before.state === service.state && before.pid === service.pid)) return []
    const restarted = service.restarts > before.restarts
    return [
      {
        code: restarted ? 'service.restarted' : 'service.state',
        message: restarted
          ? 'A service ended by itself and was started again.'
          : 'A service changed its state.',
        details: {
          service: service.name,
          from: before.state,
          to: service.state,
          ...(restarted ? { exit: service.lastExit } : {}),
        },
      },
    ]
  })
}
