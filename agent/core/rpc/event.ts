import type { Event, EventServiceService, EventServiceWatchResponse } from '#api'
import { RpcFault, type Handlers } from '#rpc'
import type { EventLog, EventRecord } from '../event-log.ts'
import type { AgentContext } from './context.ts'

export function eventHandlers(events: EventLog): Handlers<typeof EventServiceService, AgentContext> {
  return {
    watch: (request, { signal }) => {
      const after = startOf(events, { after: Number(request.afterSequence), tail: request.tail })
      return watch(events, after, { follow: request.follow, signal })
    },
  }
}

function startOf(events: EventLog, request: { readonly after: number; readonly tail: number }): number {
  if (request.tail > 0) return Math.max(events.firstKept - 1, events.lastSequence - request.tail)
  if (request.after <= events.lastSequence) return request.after
  throw new RpcFault(
    'out_of_range',
    'sequence_unknown',
    'this node has not yet had an event of that number',
    {
      hint: 'watch from 0: the node may have been made anew',
    },
  )
}

async function* watch(
  events: EventLog,
  after: number,
  options: { readonly follow: boolean; readonly signal: AbortSignal },
): AsyncGenerator<EventServiceWatchResponse> {
  // From 0 means all that are kept, of which none is missed.
  let missed = after === 0 ? 0 : Math.max(0, events.firstKept - after - 1)
  for await (const record of events.watch(after, options)) {
    yield { event: toEvent(record), missed: BigInt(missed) }
    missed = 0
  }
}

function toEvent(record: EventRecord): Event {
  return { ...record, sequence: BigInt(record.sequence), at: new Date(record.at) }
}
