import { connect } from 'node:net'
import { InitFault } from './fault.ts'
import { MAX_LINE, responseSchema, type InitRequest, type InitResponse } from './protocol.ts'

type Accepted = Extract<InitResponse, { ok: true }>

/**
 * Sends one request to the init that listens on `path` and returns its answer. Throws `init_unreachable` when nothing answers, and
 * `init_refused` with init's own sentence; ends with the signal's reason when that aborts.
 */
export async function callInit(
  path: string,
  request: InitRequest,
  options: { readonly signal: AbortSignal },
): Promise<Accepted> {
  const line = await exchange(path, `${JSON.stringify(request)}\n`, options.signal)
  const response = parseResponse(line)
  if (response.ok) return response
  throw new InitFault('init_refused', response.message)
}

async function exchange(path: string, line: string, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted()
  const socket = connect(path)
  const abort = () => socket.destroy()
  signal.addEventListener('abort', abort, { once: true })
  try {
    socket.write(line)
    let text = ''
    for await (const bytes of socket) {
      text += String(bytes)
      const end = text.indexOf('\n')
      if (end >= 0) return text.slice(0, end)
      if (text.length > MAX_LINE) break
    }
  } catch (cause) {
    signal.throwIfAborted()
    throw new InitFault('init_unreachable', 'init does not answer on its control socket', { cause })
  } finally {
    signal.removeEventListener('abort', abort)
    socket.destroy()
  }
  signal.throwIfAborted()
  throw new InitFault('init_unreachable', 'init closed its control socket without an answer')
}

function parseResponse(line: string): InitResponse {
  try {
    return responseSchema.parse(JSON.parse(line))
  } catch (cause) {
    throw new InitFault('init_unreachable', 'init answered something else than a response', { cause })
  }
}
