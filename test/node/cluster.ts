/** A cluster for machines under test: its secrets, user data for each machine of the example manifests, and clients of its nodes. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect as tlsConnect } from 'node:tls'
import { agentServices, type NodeStatus } from '#api'
import { systemClock } from '#kit/clock'
import { unwrap, type Result } from '#kit/result'
import { createClusterSecrets, issueAdminCertificate, loadAuthority, type ClusterSecrets } from '#pki'
import { parseManifests, renderAll } from '#render'
import { connect, type Client, type ClientTls, type Role } from '#rpc'
import type { Machine } from '../../agent/cli/machine/machine.ts'
import { eventually } from '../support/wait.ts'
import { BOOT_MS, REPOSITORY } from './under-test.ts'

export const GATEWAY = 50_000
const CALL_MS = 10_000
const LAST_LINES = 40

export type TestCluster = {
  readonly secrets: ClusterSecrets
  /** User data of a machine of the example manifests: cp-1 or worker-1. */
  userDataOf(name: string): string
  /** What a client of the role shows to the node, which is reached at a forwarded port. */
  tlsFor(node: string, role?: Role): Promise<ClientTls>
}

/** Makes a cluster whose workers ask these endpoints for their certificates. */
export async function makeCluster(trustEndpoints: readonly string[]): Promise<TestCluster> {
  const secrets = await createClusterSecrets({ now: systemClock.now() })
  const authority = unwrap(loadAuthority(secrets.nodeCa))
  const file = join(REPOSITORY, 'bootstrap-provider/examples/cluster.yaml')
  const manifests = valid(parseManifests(readFileSync(file, 'utf8'), { file }))
  const rendered = valid(renderAll(manifests, secrets, { trustEndpoints }))
  return {
    secrets,
    userDataOf(name) {
      const found = rendered.find(({ machineName }) => machineName === name)
      if (found === undefined) throw new Error(`the example manifests have no ${name}`)
      return found.userData
    },
    async tlsFor(node, role = 'stele:admin') {
      const now = systemClock.now()
      const issued = await issueAdminCertificate({ authority, commonName: 'test', roles: [role], now })
      return {
        authorities: [secrets.nodeCa.certificatePem],
        certificate: issued.certificatePem,
        privateKey: issued.privateKeyPem,
        serverName: node,
        expectedNode: node,
      }
    },
  }
}

type Services = Client<typeof agentServices>
type Calling = { readonly signal: AbortSignal; readonly deadlineMs: number }

/** One call by the forwarded port, on a connection of its own. */
export async function call<T>(
  machine: Machine,
  tls: ClientTls,
  use: (services: Services, options: Calling) => Promise<T>,
  options: { readonly deadlineMs?: number } = {},
): Promise<T> {
  const endpoint = { host: '127.0.0.1', port: machine.port(GATEWAY) }
  await using client = connect(agentServices, { endpoint, tls })
  const deadlineMs = options.deadlineMs ?? CALL_MS
  return await use(client, { signal: AbortSignal.timeout(deadlineMs), deadlineMs })
}

/**
 * The status of the node as soon as all its services run; of a boot other than `notBoot`, where one is named. Throws with the last lines of its console
 * when the deadline passes.
 */
export async function ready(
  machine: Machine,
  tls: ClientTls,
  options: { readonly notBoot?: string; readonly deadlineMs?: number } = {},
): Promise<NodeStatus> {
  const ask = async () => {
    const { status } = await call(machine, tls, ({ system }, calling) => system.getStatus({}, calling))
    const isWhole = status !== undefined && status.servicesTotal > 0
    if (!isWhole || status.servicesRunning !== status.servicesTotal) return undefined
    return status.bootId === options.notBoot ? undefined : status
  }
  const deadlineMs = options.deadlineMs ?? BOOT_MS
  try {
    return await eventually(ask, { deadlineMs, everyMs: 250, what: 'the node with all its services' })
  } catch (cause) {
    const last = machine.console.lines().slice(-LAST_LINES).join('\n  ')
    throw new Error(`the node is not ready; the last lines of its console:\n  ${last}`, { cause })
  }
}

/** SHA-256 of the public key that the node proves to have. */
export function nodeKey(machine: Machine, tls: ClientTls): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = tlsConnect(
      {
        ...{ host: '127.0.0.1', port: machine.port(GATEWAY), servername: tls.serverName },
        ...{ ca: [...tls.authorities], cert: tls.certificate, key: tls.privateKey, ALPNProtocols: ['h2'] },
      },
      () => {
        const certificate = socket.getPeerX509Certificate()
        socket.destroy()
        if (certificate === undefined) return reject(new Error('the node showed no certificate'))
        const key = certificate.publicKey.export({ format: 'der', type: 'spki' })
        resolve(createHash('sha256').update(key).digest('hex'))
      },
    )
    socket.once('error', reject)
  })
}

function valid<T>(result: Result<T, unknown>): T {
  if (!result.ok) throw new Error(JSON.stringify(result.error))
  return result.value
}
