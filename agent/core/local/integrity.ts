import { RpcFault } from '#rpc'
import type { IntegrityPort } from '../ports.ts'

/** The embedded mode has nothing to measure: an answer about the machine around it would be taken for one about a node. */
export const localIntegrity: IntegrityPort = {
  measure: async () => {
    throw new RpcFault(
      'failed_precondition',
      'integrity_unsupported',
      'the node is a process of this machine and has no verified root',
      { hint: 'ask a node that was booted from an image' },
    )
  },
}
