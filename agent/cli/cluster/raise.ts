/** From manifests to running local machines. Prints nothing: whoever raises a cluster hears of each step and says it in its own way. */
import { readFile } from 'node:fs/promises'
import { agentServices, type NodeStatus } from '#api'
import { formatFinding, type Finding } from '#config'
import { systemClock } from '#kit/clock'
import { Lifetime, withDeadline } from '#kit/lifetime'
import { unwrap } from '#kit/result'
import { retry } from '#kit/retry'
import { createClusterSecrets, issueAdminCertificate, loadAuthority, type ClusterSecrets } from '#pki'
import { parseManifests, renderAll } from '#render'
import { connect, type Client } from '#rpc'
import { CliFault } from '../fault.ts'
import { LocalCluster, placeNodes, trustEndpoint, type LocalClusterOptions, type NodePlace } from './local.ts'
import type { LocalMachine } from './machine.ts'

const READY_DEADLINE_MS = 30_000
const POLL = { firstDelayMs: 50, maxDelayMs: 250, attempts: Number.POSITIVE_INFINITY }

export type RaisedNode = {
  readonly name: string
  readonly role: string
  readonly userData: string
  readonly place: NodePlace
  readonly machine: LocalMachine
}

export type ClientPair = { readonly certificate: string; readonly privateKey: string }

export type RaiseOptions = Omit<LocalClusterOptions, 'bundles'> & {
  readonly manifests: string
  readonly directory: string
  readonly bundles: string
  /** The first three bytes of the nodes' addresses, inside 127.0.0.0/8; clusters that are raised at the same time need one each. */
  readonly subnet?: string
  readonly onSecrets?: (secrets: ClusterSecrets) => void
  readonly onRendered?: (node: Pick<RaisedNode, 'name' | 'role' | 'userData'>) => void
  readonly signal: AbortSignal
}

/** A cluster of local machines, and the authority to talk to it. Closing it powers every machine off. */
export class RaisedCluster implements AsyncDisposable {
  readonly secrets: ClusterSecrets
  readonly nodes: readonly RaisedNode[]
  readonly #cluster: LocalCluster

  constructor(secrets: ClusterSecrets, nodes: readonly RaisedNode[], cluster: LocalCluster) {
    this.secrets = secrets
    this.nodes = nodes
    this.#cluster = cluster
  }

  /** A new client certificate of the cluster's authority. */
  async issue(commonName: string, roles: readonly string[]): Promise<ClientPair> {
    const authority = unwrap(loadAuthority(this.secrets.nodeCa))
    const issued = await issueAdminCertificate({ authority, commonName, roles, now: systemClock.now() })
    return { certificate: issued.certificatePem, privateKey: issued.privateKeyPem }
  }

  connect(place: NodePlace, pair: ClientPair): Client<typeof agentServices> {
    return connect(agentServices, {
      endpoint: { host: place.address, port: place.gatewayPort },
      tls: { authorities: [this.secrets.nodeCa.certificatePem], ...pair },
    })
  }

  /** Waits until every service of the node runs, and returns its status then. Throws CliFault `unreachable` after 30 s. */
  async untilReady(place: NodePlace, signal: AbortSignal): Promise<NodeStatus> {
    await using client = this.connect(place, await this.issue('cluster-create', ['stele:admin']))
    const bounded = withDeadline(signal, READY_DEADLINE_MS, () => notReady(place))
    try {
      const ask = async () =>
        settled(await client.system.getStatus({}, { signal: bounded, deadlineMs: 2_000 }))
      return await retry(ask, { ...POLL, clock: systemClock, signal: bounded, isRetryable: () => true })
    } finally {
      bounded.dispose()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#cluster[Symbol.asyncDispose]()
  }
}

/** Makes secrets, renders the manifests and powers the machines on. Throws CliFault `invalid_document` with every finding of the manifests. */
export async function raise(options: RaiseOptions): Promise<RaisedCluster> {
  const secrets = await createClusterSecrets({ now: systemClock.now() })
  options.onSecrets?.(secrets)
  const { places, rendered } = await renderManifests(options, secrets)
  await using rollback = new Lifetime()
  const cluster = rollback.use(new LocalCluster(options))
  const nodes: RaisedNode[] = []
  for (const { machineName: name, role, userData } of rendered) {
    options.signal.throwIfAborted()
    options.onRendered?.({ name, role, userData })
    const place = placeOf(places, name)
    nodes.push({ name, role, userData, place, machine: await cluster.powerOn(place, userData) })
  }
  rollback.hand()
  return new RaisedCluster(secrets, nodes, cluster)
}

async function renderManifests(options: RaiseOptions, secrets: ClusterSecrets) {
  const manifests = parseManifests(await readFile(options.manifests, 'utf8'), { file: options.manifests })
  if (!manifests.ok) throw invalid(manifests.error)
  const names = manifests.value.machines.map((machine) => machine.metadata.name)
  const places = await placeNodes(names, options.directory, options.subnet)
  const rendered = renderAll(manifests.value, secrets, {
    trustEndpoints: places.slice(0, 1).map(trustEndpoint),
  })
  if (!rendered.ok) throw invalid(rendered.error)
  return { places, rendered: rendered.value }
}

function settled(answer: { readonly status?: NodeStatus | undefined }): NodeStatus {
  const { status } = answer
  if (status === undefined || status.servicesTotal === 0 || status.servicesRunning !== status.servicesTotal) {
    throw new CliFault('failed', 'services are still starting')
  }
  return status
}

function invalid(findings: readonly Finding[]): CliFault {
  return new CliFault('invalid_document', findings.map(formatFinding).join('\n'))
}

function notReady(place: NodePlace): CliFault {
  const hint = `read ${place.directory}/log`
  return new CliFault('unreachable', `${place.name} is not ready after ${READY_DEADLINE_MS / 1000} s`, {
    hint,
  })
}

function placeOf(places: readonly NodePlace[], name: string): NodePlace {
  const place = places.find((candidate) => candidate.name === name)
  if (place === undefined) throw new CliFault('failed', `the machine ${name} has no place`)
  return place
}
