/**
 * A TLS port that strangers can reach.
 *
 * Invariants: TLS 1.3 only, no session tickets (so that expiry and a changed authority bite at once), a client certificate is either required and
 * verified by OpenSSL or not asked for; what has not finished its handshake is bounded in number and time, and never keeps others out: the largest
 * holder pays with its oldest connection.
 */
import { constants } from 'node:crypto'
import { createServer as createTcpServer, type Server, type Socket } from 'node:net'
import {
  createServer as createTlsServer,
  type SecureContextOptions,
  type Server as TlsServer,
  type TLSSocket,
} from 'node:tls'
import type { Clock } from '#kit/clock'
import type { Endpoint } from '#kit/endpoint'
import type { Log } from '#kit/log'
import { addressOwner, plainAddress } from './address.ts'
import { ConnectionPool } from './connection-pool.ts'
import type { NodeIdentity } from './identity-file.ts'
import { LimitedLog } from './limited-log.ts'
import { classifyTlsFailure } from './tls-failure.ts'

export type ConnectionLimits = {
  /** Connections that have not finished the TLS handshake. */
  readonly pending: number
  readonly total: number
  /** Of one owner: a client certificate, or an address where no certificate is asked for. */
  readonly perOwner: number
  readonly handshakeTimeoutMs: number
}

export type TlsListenerOptions = {
  readonly listen: readonly Endpoint[]
  readonly identity: NodeIdentity
  readonly clientCertificate: 'required' | 'none'
  readonly limits: ConnectionLimits
  readonly onConnection: (socket: TLSSocket) => void
  readonly log: Log
  readonly clock: Clock
}

/** Starts to listen on every endpoint; rejects with the system error of the first that fails, and then listens on none. */
export async function listenTls(options: TlsListenerOptions): Promise<TlsListener> {
  const listener = new TlsListener(options)
  try {
    for (const endpoint of options.listen) await listener.listen(endpoint)
  } catch (error) {
    listener.close()
    throw error
  }
  return listener
}

export class TlsListener {
  readonly #options: TlsListenerOptions
  readonly #tls: TlsServer
  readonly #ports: Server[] = []
  readonly #pending: ConnectionPool<Socket>
  readonly #established: ConnectionPool<TLSSocket>
  /** Established connections by what grpc-js calls their peer. */
  readonly #byPeer = new Map<string, TLSSocket>()
  readonly #failures: LimitedLog
  readonly #waiting: (() => void)[] = []
  /** Addresses of pending connections: a socket that has been closed no longer tells its own. */
  readonly #addresses = new WeakMap<object, string>()

  constructor(options: TlsListenerOptions) {
    const { limits } = options
    this.#options = options
    this.#pending = new ConnectionPool({ total: limits.pending, perOwner: limits.pending })
    this.#established = new ConnectionPool({ total: limits.total, perOwner: limits.perOwner })
    this.#failures = new LimitedLog(options.log, options.clock, { ratePerSecond: 2, burst: 20 })
    this.#tls = createTlsServer({
      ...contextOf(options.identity),
      ALPNProtocols: ['h2'],
      handshakeTimeout: limits.handshakeTimeoutMs,
      requestCert: options.clientCertificate === 'required',
      rejectUnauthorized: true,
    })
    this.#tls.on('secureConnection', (socket) => this.#accept(socket))
    this.#tls.on('tlsClientError', (error, socket) => this.#refused(error, socket))
  }

  /** Endpoints in use, with the ports that the system chose for port 0. */
  get endpoints(): readonly Endpoint[] {
    return this.#ports.flatMap((port) => {
      const address = port.address()
      return typeof address === 'object' && address !== null
        ? [{ host: address.address, port: address.port }]
        : []
    })
  }

  get connections(): { readonly pending: number; readonly established: number } {
    return { pending: this.#pending.size, established: this.#established.size }
  }

  async listen(endpoint: Endpoint): Promise<void> {
    const port = createTcpServer({ noDelay: true, keepAlive: true }, (socket) => this.#arrive(socket))
    await new Promise<void>((resolve, reject) => {
      port.once('error', reject)
      port.listen(
        {
          host: endpoint.host,
          port: endpoint.port,
          ipv6Only: endpoint.host.includes(':') && endpoint.host !== '::',
        },
        () => {
          port.off('error', reject)
          resolve()
        },
      )
    })
    port.on('error', (error) => this.#options.log.error('the port failed', { error }))
    this.#ports.push(port)
  }

  /** New connections get the new certificate and are judged by the new authorities; those that are open live on. */
  reload(identity: NodeIdentity): void {
    this.#tls.setSecureContext(contextOf(identity))
  }

  /** Ends the connection that grpc-js names so (`address:port`), at once. */
  cut(peer: string): void {
    this.#byPeer.get(peer)?.destroy()
  }

  /** Accepts nothing more; what is open stays. */
  stopAccepting(): void {
    for (const port of this.#ports) port.close()
    for (const socket of this.#pending.items()) socket.destroy()
  }

  /** Resolves as soon as no connection is established. */
  async emptied(): Promise<void> {
    if (this.#established.size === 0) return
    await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** Ends everything at once. */
  close(): void {
    this.stopAccepting()
    for (const socket of this.#established.items()) socket.destroy()
  }

  #arrive(socket: Socket): void {
    this.#addresses.set(socket, plainAddress(socket.remoteAddress))
    const loser = this.#pending.add(socket, addressOwner(socket.remoteAddress ?? ''))
    loser?.destroy()
    socket.once('close', () => this.#pending.delete(socket))
    socket.on('error', () => socket.destroy())
    this.#tls.emit('connection', socket)
  }

  #accept(socket: TLSSocket): void {
    socket.on('error', () => socket.destroy())
    this.#settle(socket)
    const owner = this.#ownerOf(socket)
    if (owner === undefined || socket.alpnProtocol !== 'h2') {
      socket.destroy()
      return
    }
    const loser = this.#established.add(socket, owner)
    if (loser !== undefined) {
      this.#failures.warn('connection evicted', { from: plainAddress(loser.remoteAddress), owner })
      loser.destroy()
    }
    const peer = `${socket.remoteAddress}:${socket.remotePort}`
    this.#byPeer.set(peer, socket)
    socket.once('close', () => {
      this.#established.delete(socket)
      if (this.#established.size === 0) for (const resolve of this.#waiting.splice(0)) resolve()
      if (this.#byPeer.get(peer) === socket) this.#byPeer.delete(peer)
    })
    this.#options.onConnection(socket)
  }

  /** The connection under this TLS socket is no longer pending. */
  #settle(socket: TLSSocket): void {
    for (const tcp of this.#pending.items()) {
      if (tcp.remotePort === socket.remotePort && tcp.remoteAddress === socket.remoteAddress)
        this.#pending.delete(tcp)
    }
  }

  #ownerOf(socket: TLSSocket): string | undefined {
    if (this.#options.clientCertificate === 'none') return addressOwner(socket.remoteAddress ?? '')
    // An empty certificate passes a resumed session of some versions of Node (nodejs/node#35317); none of ours may.
    return socket.authorized ? socket.getPeerX509Certificate()?.fingerprint256 : undefined
  }

  #addressOf(socket: TLSSocket): string {
    const tcp = wrappedBy(socket)
    const known = typeof tcp === 'object' && tcp !== null ? this.#addresses.get(tcp) : undefined
    return known ?? plainAddress(socket.remoteAddress)
  }

  #refused(error: Error, socket: TLSSocket): void {
    this.#failures.warn('TLS refused', {
      from: this.#addressOf(socket),
      cause: classifyTlsFailure(error, socket.authorizationError),
    })
    socket.destroy()
  }
}

// Node keeps the socket that a TLS socket wraps under this name; without it the log says `unknown`, nothing else depends on it.
function wrappedBy(socket: TLSSocket): unknown {
  return Reflect.get(socket, '_parent')
}

function contextOf(identity: NodeIdentity): SecureContextOptions {
  return {
    cert: identity.certificate,
    key: identity.privateKey.reveal(),
    ca: [...identity.authorities],
    minVersion: 'TLSv1.3',
    secureOptions: constants.SSL_OP_NO_TICKET,
  }
}
