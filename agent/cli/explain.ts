/**
 * Why a node does not answer. In TLS 1.3 a server judges our certificate after our side of the handshake is done (RFC 8446 section 4.4.2), and many
 * servers then just close: to a gRPC client that is a broken network. One handshake by hand tells the two apart.
 */
import { connect, type TLSSocket } from 'node:tls'
import type { ClientTls } from '#rpc'
import type { Endpoint } from '#kit/endpoint'
import { Fault } from '#kit/fault'
import { withDeadline } from '#kit/lifetime'

const UNCLEAR: readonly string[] = ['node_unreachable', 'connection_closed']
const PROBE_MS = 3000

export type Way = { readonly endpoint: Endpoint; readonly tls: ClientTls; readonly signal: AbortSignal }

/** Returns RpcFault `certificate_refused` when that is why, else the error as it is. Never rejects; sends nothing but a handshake. */
export async function explain(error: unknown, way: Way): Promise<unknown> {
  if (!(error instanceof Fault) || !UNCLEAR.includes(String(error.code)) || way.signal.aborted) return error
  if (!(await isClosedAfterHandshake(way))) return error
  const { RpcFault } = await import('#rpc')
  return new RpcFault('unauthenticated', 'certificate_refused', 'the node refused our certificate', {
    hint: 'use a context that was made for this cluster; the log of the gateway says why it was refused',
    cause: error,
  })
}

async function isClosedAfterHandshake({ endpoint, tls, signal }: Way): Promise<boolean> {
  const deadline = withDeadline(signal, PROBE_MS, () => new Error('the probe took too long'))
  const socket = connect({
    host: endpoint.host,
    port: endpoint.port,
    ca: [...tls.authorities],
    cert: tls.certificate,
    key: tls.privateKey,
    minVersion: 'TLSv1.3',
    ALPNProtocols: ['h2'],
    // Which address the certificate names was judged by the call itself; here only the answer to ours counts.
    checkServerIdentity: () => undefined,
  })
  const stop = (): void => void socket.destroy()
  deadline.addEventListener('abort', stop, { once: true })
  try {
    return await verdict(socket, deadline)
  } finally {
    deadline.dispose()
    socket.destroy()
  }
}

/** True when the handshake ended and the other side closed before it said a word of HTTP/2. */
function verdict(socket: TLSSocket, deadline: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    let isSecure = false
    socket.once('secureConnect', () => (isSecure = true))
    socket.once('data', () => resolve(false))
    socket.once('end', () => resolve(isSecure))
    socket.on('error', () => resolve(isSecure))
    socket.once('close', () => resolve(isSecure && !deadline.aborted))
  })
}
