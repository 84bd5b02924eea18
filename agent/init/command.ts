import { formatEndpoint } from '#kit/endpoint'
import type { NodeDirectory } from './node-directory.ts'
import type { NodeFile } from './node-file.ts'
import type { ServiceName } from './protocol.ts'

/** Returns the argument vector of each service: the flags are the contract between init and the daemons. None of them is a secret. */
export function serviceCommands(
  node: NodeFile,
  paths: NodeDirectory,
): Readonly<Record<ServiceName, readonly string[]>> {
  const listen = (port: number) =>
    node.addresses.flatMap((host) => ['--listen', formatEndpoint({ host, port })])
  return {
    core: [
      ...node.programs.core,
      ...['--platform', 'local', '--directory', paths.root, '--name', node.name],
      ...node.addresses.flatMap((address) => ['--address', address]),
      ...['--gateway-port', String(node.gatewayPort), '--trust-port', String(node.trustPort)],
      ...node.userData.flatMap((source) => ['--user-data', source]),
    ],
    gateway: [
      ...node.programs.gateway,
      ...listen(node.gatewayPort),
      ...['--core', paths.coreGatewaySocket, '--identity', paths.gatewayIdentity],
    ],
    trust: [
      ...node.programs.trust,
      ...listen(node.trustPort),
      ...['--core', paths.coreTrustSocket, '--identity', paths.trustIdentity],
    ],
  }
}
