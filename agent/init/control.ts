/** Init's control socket: mode 0600, JSON lines, bounded in line length and in idle time. */
import { chmodSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { once } from 'node:events'
import type { Log } from '#kit/log'
import { isAnswered } from '#kit/unix-socket'
import { InitFault } from './fault.ts'
import { MAX_LINE, requestSchema, type InitRequest, type InitResponse } from './protocol.ts'

const IDLE_MS = 30_000

export type ControlOptions = {
  readonly path: string
  readonly handle: (request: InitRequest) => Promise<InitResponse>
  readonly log: Log
}

/**
 * Returns a listening socket; a leftover of an init that was killed is replaced. Throws `directory_in_use` while another init answers there: two
 * of them would run two cores on one STATE.
 */
export async function openControlSocket(options: ControlOptions): Promise<AsyncDisposable> {
  if (await isAnswered(options.path)) {
    throw new InitFault('directory_in_use', 'another init runs on this node directory', {
      hint: 'stop it first',
    })
  }
  rmSync(options.path, { force: true })
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    socket.setTimeout(IDLE_MS, () => socket.destroy())
    serve(socket, options)
  })
  server.maxConnections = 64
  server.listen(options.path)
  await once(server, 'listening')
  chmodSync(options.path, 0o600)
  return {
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

function serve(socket: Socket, options: ControlOptions): void {
  let rest = ''
  let queue: Promise<void> = Promise.resolve()
  socket.setEncoding('utf8')
  socket.on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > MAX_LINE) {
      socket.destroy()
      return
    }
    for (const line of lines) {
      queue = queue.then(async () => {
        const response = await answer(line, options)
        socket.write(`${JSON.stringify(response)}\n`)
      })
    }
  })
}

async function answer(line: string, options: ControlOptions): Promise<InitResponse> {
  try {
    return await options.handle(parseRequest(line))
  } catch (error) {
    if (error instanceof InitFault) return { ok: false, code: error.code, message: error.message }
    options.log.error('control request failed', { error })
    return { ok: false, code: 'internal', message: 'the request failed' }
  }
}

/** Returns the request of one line; throws `request_invalid`. */
export function parseRequest(line: string): InitRequest {
  let document: unknown
  try {
    document = JSON.parse(line)
  } catch (cause) {
    throw new InitFault('request_invalid', 'the line is not JSON', { cause })
  }
  const parsed = requestSchema.safeParse(document)
  if (!parsed.success)
    throw new InitFault('request_invalid', 'the line is not a request', { cause: parsed.error })
  return parsed.data
}
