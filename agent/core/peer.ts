/**
 * Who is at the other end of a unix socket: SO_PEERCRED, which the kernel fills in at connect and nobody can forge (unix(7)).
 *
 * Invariant: without this check nothing is served; a process that cannot ask refuses to start.
 */
import koffi from 'koffi'
import type { Socket } from 'node:net'
import { CoreFault } from './fault.ts'

/** Linux on every architecture that Node runs on except alpha, mips, parisc and sparc. */
const SOL_SOCKET = 1
const SO_PEERCRED = 17

export type PeerCheck = (socket: Socket) => {
  readonly pid: number
  readonly uid: number
  readonly gid: number
}

/** Returns the check; throws `peer_check_unavailable` when the C library cannot be called here. */
export function loadPeerCheck(): PeerCheck {
  try {
    const libc = koffi.load('libc.so.6')
    const getsockopt = libc.func('int getsockopt(int, int, int, _Out_ uint8_t *, _Inout_ uint32_t *)')
    return (socket) => {
      const credentials = Buffer.alloc(12)
      const length = [credentials.length]
      if (getsockopt(descriptorOf(socket), SOL_SOCKET, SO_PEERCRED, credentials, length) !== 0)
        throw unavailable()
      return {
        pid: credentials.readInt32LE(0),
        uid: credentials.readUInt32LE(4),
        gid: credentials.readUInt32LE(8),
      }
    }
  } catch (cause) {
    throw unavailable(cause)
  }
}

function descriptorOf(socket: Socket): number {
  // Node has no public way to the descriptor; `_handle` has carried it since 0.x.
  const handle = (socket as { readonly _handle?: { readonly fd?: unknown } | null })._handle
  if (typeof handle?.fd !== 'number' || handle.fd < 0) throw unavailable()
  return handle.fd
}

function unavailable(cause?: unknown): CoreFault {
  return new CoreFault('peer_check_unavailable', 'the peer of the socket cannot be known', { cause })
}
