import { ConfigServiceService, ServiceServiceService, SystemServiceService } from '#api'
import type { Node } from '../node.ts'
import type { Operation, Operations } from '../operation.ts'
import type { Power } from '../power.ts'
import { restartAfterAnswer } from '../rpc/service.ts'

/**
 * Takes up what was accepted and not finished when core ended. A reboot that came true in the meantime is finished; one that did not is asked
 * for again; a configuration that was not yet committed was never answered, so its key is free again.
 */
export function resumeOperations(node: Node, operations: Operations, power: Power): void {
  for (const operation of operations.unfinished) {
    node.log.info('operation resumed', { operationId: operation.id, method: operation.method })
    resume(operation, { node, operations, power })
  }
}

type Parts = { readonly node: Node; readonly operations: Operations; readonly power: Power }

function resume(operation: Operation, parts: Parts): void {
  const answer = Buffer.from(operation.answer, 'base64')
  switch (operation.method) {
    case ConfigServiceService.apply.path: {
      const { revision } = ConfigServiceService.apply.responseDeserialize(answer)
      const happened = Number(revision) <= parts.node.committed.counter
      if (happened) parts.operations.finish(operation.id)
      else parts.operations.drop(operation.id)
      return
    }
    case ServiceServiceService.restart.path: {
      const { service } = ServiceServiceService.restart.responseDeserialize(answer)
      restartAfterAnswer(parts, service?.name ?? '', operation.id)
      return
    }
    case SystemServiceService.reboot.path:
      resumePower('rebooting', operation, parts)
      return
    case SystemServiceService.shutdown.path:
      resumePower('stopping', operation, parts)
      return
    default:
      parts.operations.finish(operation.id)
  }
}

function resumePower(kind: 'rebooting' | 'stopping', operation: Operation, parts: Parts): void {
  if (operation.bootId === parts.node.boot.bootId) {
    parts.power.begin({ kind, forced: operation.forced, operationId: operation.id })
    return
  }
  parts.operations.finish(operation.id)
  parts.node.events.emit({
    code: kind === 'rebooting' ? 'machine.rebooted' : 'machine.started',
    message: 'The machine is up again.',
    operationId: operation.id,
    details: { before: operation.bootId },
  })
}
