/**
 * A unix socket that only one uid may talk to.
 *
 * Invariants: whoever connects is checked by the kernel's word before a byte is read; a leftover socket of a crash is replaced; the mode is
 * 0660 in a folder that nobody else may enter.
 */
import { once } from 'node:events'
import { chmodSync, mkdirSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { dirname } from 'node:path'
import type { Log } from '#kit/log'
import type { PeerCheck } from './peer.ts'

export type UnixListenerOptions = {
  readonly path: string
  readonly peer: PeerCheck
  /** The one uid that may connect. */
  readonly uid: number
  readonly accept: (socket: Socket) => void
  readonly log: Log
}

/** Returns a listening socket; closing it leaves accepted connections to whoever got them. */
export async function listenUnix(options: UnixListenerOptions): Promise<AsyncDisposable> {
  const { path, log } = options
  // Another uid must pass through the folder; its own uid needs nobody else there.
  mkdirSync(dirname(path), { recursive: true })
  chmodSync(dirname(path), options.uid === process.getuid?.() ? 0o700 : 0o711)
  rmSync(path, { force: true })
  const server = createServer((socket) => {
    if (isAllowed(socket, options)) options.accept(socket)
    else socket.destroy()
  })
  server.maxConnections = 256
  server.listen(path)
  await once(server, 'listening')
  chmodSync(path, 0o660)
  log.info('listening', { path })
  return {
    [Symbol.asyncDispose]: async () => {
      // The server emits close only when all connections are gone, which grpc sees to; no new ones come from here on.
      server.close()
    },
  }
}

function isAllowed(socket: Socket, options: UnixListenerOptions): boolean {
  try {
    const { pid, uid } = options.peer(socket)
    if (uid === options.uid) return true
    options.log.warn('peer refused', { path: options.path, pid, uid })
  } catch (error) {
    options.log.error('peer unknown', { path: options.path, error })
  }
  return false
}
