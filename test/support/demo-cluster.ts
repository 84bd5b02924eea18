/**
 * A control plane and a worker as local processes, raised from the example manifests through the same code as `npm start`.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Lifetime } from '#kit/lifetime'
import { mergeContext } from '../../agent/cli/context.ts'
import { gatewayEndpoint } from '../../agent/cli/cluster/local.ts'
import { raise, type RaisedCluster, type RaisedNode } from '../../agent/cli/cluster/raise.ts'

export const repository = join(import.meta.dirname, '../..')

/** A /24 of this process alone: tests run side by side, and two clusters must not find the same port free. */
export function ownSubnet(): string {
  return `127.${1 + ((process.pid >> 8) & 0x7f)}.${process.pid & 0xff}`
}

export type DemoCluster = AsyncDisposable & {
  readonly cluster: RaisedCluster
  readonly controlPlane: RaisedNode
  readonly worker: RaisedNode
  /** File with the contexts `demo` (admin) and `reader`. */
  readonly contexts: string
  /** How often an init was started again by the machine that it runs on. */
  readonly restarts: readonly string[]
}

/** Bundles the daemons and raises the cluster; resolves when every service runs. */
export async function raiseDemoCluster(): Promise<DemoCluster> {
  execFileSync(process.execPath, [join(repository, 'images/bundle.ts')], { stdio: 'inherit' })
  await using rollback = new Lifetime()
  const directory = mkdtempSync(join(tmpdir(), 'stele-demo-'))
  rollback.onClose(() => rmSync(directory, { recursive: true, force: true }))
  const restarts: string[] = []
  const signal = AbortSignal.timeout(60_000)
  const cluster = rollback.use(
    await raise({
      manifests: join(repository, 'bootstrap-provider/examples/cluster.yaml'),
      directory,
      bundles: join(repository, '.build'),
      subnet: ownSubnet(),
      onRestart: (node) => void restarts.push(node),
      onPowerOff: () => undefined,
      signal,
    }),
  )
  for (const node of cluster.nodes) await cluster.untilReady(node.place, signal)
  const contexts = join(directory, 'contexts.yaml')
  const nodes = cluster.nodes.map(({ name, place }) => ({ name, endpoint: gatewayEndpoint(place) }))
  const base = { nodes, authorities: cluster.secrets.nodeCa.certificatePem }
  await mergeContext(
    contexts,
    'demo',
    { ...base, ...(await cluster.issue('demo-admin', ['stele:admin'])) },
    { makeCurrent: true },
  )
  await mergeContext(contexts, 'reader', {
    ...base,
    ...(await cluster.issue('demo-reader', ['stele:reader'])),
  })
  const [controlPlane, worker] = cluster.nodes
  if (controlPlane === undefined || worker === undefined)
    throw new Error('the example manifests describe two machines')
  rollback.hand()
  const dispose = async () => {
    await cluster[Symbol.asyncDispose]()
    rmSync(directory, { recursive: true, force: true })
  }
  return { cluster, controlPlane, worker, contexts, restarts, [Symbol.asyncDispose]: dispose }
}
