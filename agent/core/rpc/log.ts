import type { LogServiceService, LogsResponse } from '#api'
import { RpcFault, type Handlers } from '#rpc'
import type { Node } from '../node.ts'
import type { LogChunk } from '../ports.ts'
import type { AgentContext } from './context.ts'

export function logHandlers(node: Node): Handlers<typeof LogServiceService, AgentContext> {
  const { logs } = node.ports
  return {
    logs: (request, { signal }) => {
      if (!logs.names().includes(request.service)) {
        throw new RpcFault('not_found', 'log_unknown', 'there is no log of that name', {
          hint: `logs: ${logs.names().join(', ')}`,
        })
      }
      if (request.follow && request.previousBoot) {
        throw new RpcFault(
          'invalid_argument',
          'follow_previous_boot',
          'the log of the previous boot cannot be followed',
        )
      }
      const { follow, tailLines, previousBoot } = request
      return toResponses(logs.read(request.service, { follow, tailLines, previousBoot, signal }))
    },
    kernelLog: (request, { signal }) => {
      const { follow, tailLines } = request
      return toResponses(logs.readKernel({ follow, tailLines, previousBoot: false, signal }))
    },
  }
}

async function* toResponses(chunks: AsyncIterable<LogChunk>): AsyncGenerator<LogsResponse> {
  for await (const chunk of chunks) yield { lines: chunk.lines, dropped: BigInt(chunk.dropped) }
}
