/**
 * One TLS connection of a client: who the server must be, from which address we come, and what went wrong.
 *
 * Invariants: nothing is sent before the chain was verified by OpenSSL against the given authorities and the certificate names the host that was
 * dialled; an empty list of authorities never dials; TLS 1.3 only; closing the owner ends every socket, also one that is still connecting.
 */
import { X509Certificate } from 'node:crypto'
import { isIP, type Socket } from 'node:net'
import { checkServerIdentity, connect as tlsConnect, createSecureContext, type TLSSocket } from 'node:tls'
import * as grpc from '@grpc/grpc-js'
import type { Endpoint } from '#kit/endpoint'
import { RpcFault } from './status.ts'

export type ClientTls = {
  /** PEM certificates, one an item. */
  readonly authorities: readonly string[]
  readonly certificate?: string
  readonly privateKey?: string
  /** The server's certificate must carry this node name, whatever address was dialled. */
  readonly expectedNode?: string
  /**
   * What the certificate must name in place of the host that was dialled: a DNS name or an IP address of the node behind a forwarded port, a NAT or a
   * tunnel.
   */
  readonly serverName?: string
}

/** What happened on the way to the server, newest only: grpc-js tells it as text, if at all. */
export class Attempts {
  /** The TLS error that ended the newest connection, or the refusal of the server's certificate. */
  failure: Error | undefined
  /** The TLS handshake of the newest connection went well on our side; the server may still refuse us (RFC 8446 section 4.4.2.4). */
  isSecured = false
}

export type DialOptions = {
  readonly endpoint: Endpoint
  readonly tls: ClientTls
  readonly attempts: Attempts
  readonly handshakeTimeoutMs: number
  /** Aborts when the owner of the connection closes it. */
  readonly signal: AbortSignal
}

/** Returns credentials for grpc-js. Throws RpcFault `authority_missing` when there is nothing to verify the server with. */
export function dialCredentials(options: DialOptions): grpc.ChannelCredentials {
  const { authorities, certificate, privateKey } = options.tls
  if (authorities.length === 0 || authorities.some((pem) => pem.trim() === '')) {
    throw new RpcFault('failed_precondition', 'authority_missing', 'no authority to verify the node with', {
      hint: 'name the certificate of the node CA',
    })
  }
  try {
    for (const pem of authorities) new X509Certificate(pem)
    const secureContext = createSecureContext({
      ca: [...authorities],
      minVersion: 'TLSv1.3',
      ...(certificate === undefined ? {} : { cert: certificate }),
      ...(privateKey === undefined ? {} : { key: privateKey }),
    })
    return new DialCredentials((socket) => secure(socket, secureContext, options))
  } catch (cause) {
    throw new RpcFault(
      'failed_precondition',
      'credentials_invalid',
      'the certificate, key or authority cannot be used',
      {
        hint: 'a certificate and its own private key, and authorities, in PEM',
        cause,
      },
    )
  }
}

type Connect = (socket: Socket) => Promise<{ socket: Socket; secure: boolean }>

class DialCredentials extends grpc.ChannelCredentials {
  readonly #connect: Connect

  constructor(connect: Connect) {
    super()
    this.#connect = connect
  }

  override _isSecure(): boolean {
    return true
  }

  override _equals(other: grpc.ChannelCredentials): boolean {
    return this === other
  }

  override _createSecureConnector(): grpc.experimental.SecureConnector {
    return {
      connect: this.#connect,
      waitForReady: () => Promise.resolve(),
      getCallCredentials: () => grpc.CallCredentials.createEmpty(),
      destroy: () => undefined,
    }
  }
}

/** Resolves when the server has proved who it is; rejects with the TLS error otherwise. */
function secure(
  socket: Socket,
  secureContext: ReturnType<typeof createSecureContext>,
  options: DialOptions,
): Promise<{ socket: Socket; secure: boolean }> {
  const { attempts, signal } = options
  const host = serverNameOf(options)
  if (signal.aborted) {
    // Node connects a socket whose signal aborted before `connect`.
    socket.destroy()
    return Promise.reject(new Error('the client is closed'))
  }
  attempts.isSecured = false
  attempts.failure = undefined
  return new Promise((resolve, reject) => {
    const tls: TLSSocket = tlsConnect({
      socket,
      secureContext,
      ALPNProtocols: ['h2'],
      // RFC 6066 section 3 allows names alone here: no IP address is sent.
      servername: isIP(host) === 0 ? host : '',
      checkServerIdentity: (_name, peer) => verifyHost(peer.raw, options),
    })
    const timer = setTimeout(
      () => tls.destroy(new Error('the TLS handshake took too long')),
      options.handshakeTimeoutMs,
    )
    tls.once('secureConnect', () => {
      clearTimeout(timer)
      attempts.isSecured = true
      resolve({ socket: tls, secure: true })
    })
    // Stays for the life of the connection: with TLS 1.3 the server's verdict on our certificate comes after our handshake is done.
    tls.on('error', (error: Error) => {
      attempts.failure = error
      reject(error)
    })
    tls.once('close', () => {
      clearTimeout(timer)
      reject(attempts.failure ?? new Error('the connection closed during the TLS handshake'))
    })
  })
}

/** Returns why the certificate is not the server's we meant, or undefined. An IP address counts as an IP SAN only. */
function verifyHost(der: Buffer, options: DialOptions): Error | undefined {
  const { tls } = options
  const host = serverNameOf(options)
  const certificate = new X509Certificate(der)
  const isNamed =
    isIP(host) === 0
      ? checkServerIdentity(host, certificate.toLegacyObject()) === undefined
      : certificate.checkIP(host) !== undefined
  if (!isNamed) {
    return new RpcFault(
      'unauthenticated',
      'certificate_server_name',
      tls.serverName === undefined
        ? 'the certificate of the node does not name the address that was dialled'
        : 'the certificate of the node does not carry the server name of the context',
      {
        hint: 'dial a name or address that the node certificate holds, or give it as the serverName of the node',
      },
    )
  }
  if (tls.expectedNode === undefined || namesNode(certificate, tls.expectedNode)) return undefined
  return new RpcFault('unauthenticated', 'certificate_server_node', 'another node answered at this address', {
    hint: 'check which node holds the address',
  })
}

function serverNameOf({ endpoint, tls }: DialOptions): string {
  return tls.serverName ?? endpoint.host
}

function namesNode(certificate: X509Certificate, node: string): boolean {
  return (
    certificate.subject.split('\n').includes(`CN=${node}`) ||
    certificate.checkHost(node, { wildcards: false }) !== undefined
  )
}
