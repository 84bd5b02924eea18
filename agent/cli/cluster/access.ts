/** The way to the nodes of a cluster of machines: a certificate of its own authority, and the forwarded ports. */
import { agentServices, type NodeStatus } from '#api'
import type { Clock } from '#kit/clock'
import { unwrap } from '#kit/result'
import { issueAdminCertificate, loadAuthority, type ClusterSecrets } from '#pki'
import { connect, type ClientTls } from '#rpc'
import { mergeContext, type Context } from '../context.ts'
import { CliFault } from '../fault.ts'
import type { AgentClient } from '../nodes.ts'
import type { ClusterNode, ClusterRecord } from './record.ts'

const ADMIN = ['stele:admin']
const CALL_DEADLINE_MS = 5000

/** Opens a connection to a node; the caller closes it. */
export type Open = (node: ClusterNode) => AgentClient

/** Credentials for the run of one command, kept nowhere. */
export async function openAccess(secrets: ClusterSecrets, clock: Clock): Promise<Open> {
  const { certificate, privateKey } = await issue(secrets, { commonName: 'cluster-command', clock })
  return (node) => {
    const tls: ClientTls = {
      authorities: [secrets.nodeCa.certificatePem],
      certificate,
      privateKey,
      serverName: node.name,
      expectedNode: node.name,
    }
    return connect(agentServices, { endpoint: { host: '127.0.0.1', port: node.apiPort }, tls })
  }
}

/** Asks once, on a connection of its own, and returns the status when every service runs. Throws what stands in the way. */
export async function askReady(open: Open, node: ClusterNode, signal: AbortSignal): Promise<NodeStatus> {
  await using client = open(node)
  const { status } = await client.system.getStatus({}, { signal, deadlineMs: CALL_DEADLINE_MS })
  if (status === undefined || status.servicesTotal === 0 || status.servicesRunning !== status.servicesTotal) {
    throw new CliFault('failed', 'services are still starting')
  }
  return status
}

/** Writes the context of the cluster with a new certificate. What is current stays so. */
export async function writeContext(
  record: ClusterRecord,
  secrets: ClusterSecrets,
  clock: Clock,
): Promise<void> {
  const context: Context = {
    nodes: record.nodes.map(({ name, apiPort }) => ({
      name,
      endpoint: `127.0.0.1:${apiPort}`,
      serverName: name,
    })),
    authorities: secrets.nodeCa.certificatePem,
    ...(await issue(secrets, { commonName: 'cluster-admin', clock })),
  }
  await mergeContext(record.contextFile, record.name, context)
}

async function issue(
  secrets: ClusterSecrets,
  options: { readonly commonName: string; readonly clock: Clock },
): Promise<{ readonly certificate: string; readonly privateKey: string }> {
  const authority = unwrap(loadAuthority(secrets.nodeCa))
  const { commonName, clock } = options
  const issued = await issueAdminCertificate({ authority, commonName, roles: ADMIN, now: clock.now() })
  return { certificate: issued.certificatePem, privateKey: issued.privateKeyPem }
}
