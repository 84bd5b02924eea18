import { join } from 'node:path'
import { InitFault } from './fault.ts'

/** Where the parts of a node in the embedded mode keep what they share: the contract between init and core about one directory. */
export type NodeDirectory = {
  readonly root: string
  readonly state: string
  readonly log: string
  readonly run: string
  readonly initSocket: string
  readonly coreGatewaySocket: string
  readonly coreTrustSocket: string
  readonly gatewayIdentity: string
  readonly trustIdentity: string
}

/** Longest path that fits in a `sockaddr_un` with its final NUL, in bytes (unix(7)). */
const MAX_SOCKET_PATH = 107

/** Returns the paths below `root`; throws `socket_path_too_long` when a socket could not be bound there. */
export function nodeDirectory(root: string): NodeDirectory {
  const run = join(root, 'run')
  const paths = {
    root,
    state: join(root, 'state'),
    log: join(root, 'log'),
    run,
    initSocket: join(run, 'init.sock'),
    coreGatewaySocket: join(run, 'core', 'gateway.sock'),
    coreTrustSocket: join(run, 'core', 'trust.sock'),
    gatewayIdentity: join(run, 'gateway', 'identity.json'),
    trustIdentity: join(run, 'trust', 'identity.json'),
  }
  if (Buffer.byteLength(paths.coreGatewaySocket) > MAX_SOCKET_PATH) {
    throw new InitFault('socket_path_too_long', 'the node directory is too deep for a unix socket', {
      hint: 'choose a directory with a shorter path',
    })
  }
  return paths
}
