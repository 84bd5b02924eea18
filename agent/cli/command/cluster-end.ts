/** `stelectl cluster stop` and `destroy`. */
import { lstat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { openAccess } from '../cluster/access.ts'
import {
  clusterFolder,
  clustersFolder,
  isClusterFolder,
  listMachines,
  removeFolder,
  type ClusterFolder,
} from '../cluster/folder.ts'
import { lockCluster } from '../cluster/lock.ts'
import { observeCluster, placeOf } from '../cluster/observe.ts'
import { unknownCluster } from '../cluster/plan.ts'
import { readRecord, type ClusterRecord } from '../cluster/record.ts'
import { stopNode, type Stopped } from '../cluster/stop.ts'
import { removeContext } from '../context.ts'
import { formatElapsed } from '../duration.ts'
import type { ExitCode } from '../failure.ts'
import { fanOut, report } from '../fan-out.ts'
import { CliFault } from '../fault.ts'
import { cutPower } from '../machine/detached.ts'
import type { Run } from '../run.ts'
import { readSecrets } from '../secrets.ts'

export type DestroyOptions = { readonly dryRun?: boolean; readonly yes?: boolean }

const STOP_MS = 2 * 60_000

const WORDS: Readonly<Record<Stopped['how'], string>> = {
  'shut-down': 'shut down',
  'powered-off': 'was powered off: it did not shut down in time',
  'was-off': 'was off',
}

/** Workers first: a control plane is there until nobody needs it. */
export async function stopCluster(run: Run): Promise<ExitCode> {
  const [name = ''] = run.operands
  const { clock, signal } = run
  const folder = clusterFolder(clustersFolder(run.env), name)
  await using _lock = await lockCluster(folder.path)
  const record = await readRecord(folder.path, name)
  if (record === undefined) throw unknownCluster(name)
  const open = await openAccess(await readSecrets(folder.secrets, signal), clock)
  const stop = (role: ClusterRecord['nodes'][number]['role']) =>
    fanOut(
      record.nodes.filter((node) => node.role === role).map((node) => ({ name: node.name, node })),
      ({ node }) =>
        stopNode(node, { folder, open, clock, signal, deadlineMs: run.shared.timeoutMs ?? STOP_MS }),
    )
  const outcomes = [...(await stop('worker')), ...(await stop('control-plane'))]
  signal.throwIfAborted()
  return report(run.output, outcomes, {
    data: (stopped) => stopped,
    text: (answered) =>
      answered
        .map(({ node, value }) => `${node} ${WORDS[value.how]}  ${formatElapsed(value.elapsedMs)}`)
        .join('\n'),
  })
}

export async function destroyCluster(run: Run<DestroyOptions>): Promise<ExitCode> {
  const [name = ''] = run.operands
  const { clock, signal } = run
  const folder = clusterFolder(clustersFolder(run.env), name)
  await requireFolder(folder.path, name)
  await using _lock = await lockCluster(folder.path)
  const doomed = await observeDoomed(run, name, folder)
  if (run.options.dryRun === true) {
    run.output.result({ dryRun: true, ...doomed }, () => describeDoomed(doomed))
    return 0
  }
  const ended = namesOf(doomed.running, 'no machine')
  await requireYes(run, name, ended)
  for (const machine of doomed.machines) {
    await cutPower(placeOf(folder, { name: machine }), { clock, signal, graceMs: 0 })
  }
  if (doomed.context !== undefined) await removeContext(doomed.context, name)
  const kept = await removeFolder(folder.path)
  if (kept.length > 0) run.output.warning(`${folder.path} stays: it holds ${kept.join(', ')}`)
  run.output.result({ ...doomed, kept }, () => `the cluster ${name} is gone; ended ${ended}`)
  return 0
}

/** What goes when a cluster goes. */
type Doomed = {
  readonly cluster: string
  readonly folder: string
  readonly machines: readonly string[]
  readonly running: readonly string[]
  readonly disks: readonly string[]
  /** The file of contexts that has one of the cluster's own. */
  readonly context?: string
}

/** Throws CliFault `cluster_unknown`: without a record, only what a kill left of a cluster is taken away. */
async function observeDoomed(run: Run<DestroyOptions>, name: string, folder: ClusterFolder): Promise<Doomed> {
  const contextFile = resolve(run.shared.configPath)
  const { record, running, disks, context } = await observeCluster({
    ...{ name, folder, contextFile, signal: run.signal },
  })
  if (record === undefined && !(await isClusterFolder(folder.path))) throw unknownCluster(name)
  return {
    ...{ cluster: name, folder: folder.path, running, disks },
    machines: record?.nodes.map((node) => node.name) ?? (await listMachines(folder)),
    ...(context === 'own' ? { context: record?.contextFile ?? contextFile } : {}),
  }
}

/** Pure. */
function describeDoomed({ cluster, folder, running, disks, context }: Doomed): string {
  return [
    `would destroy the cluster ${cluster}:`,
    `  ends ${namesOf(running, 'no machine')}`,
    ...(context === undefined ? [] : [`  takes the context ${cluster} out of ${context}`]),
    `  removes ${folder} with ${disks.length === 0 ? 'no disk' : `the disks of ${disks.join(', ')}`} and the secrets of the cluster`,
    'what is on the disks cannot be got back, and no certificate of the cluster is good for anything then',
  ].join('\n')
}

function namesOf(names: readonly string[], none: string): string {
  return names.length === 0 ? none : names.join(', ')
}

/** A folder that is a link leads somewhere that is not ours. */
async function requireFolder(path: string, name: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined)
  if (found === undefined) throw unknownCluster(name)
  if (found.isDirectory()) return
  throw new CliFault('folder_foreign', `${path} is no folder of a cluster`, { hint: 'remove it by hand' })
}

async function requireYes(run: Run<DestroyOptions>, name: string, running: string): Promise<void> {
  if (run.options.yes === true) return
  if (run.confirm === undefined) {
    throw new CliFault(
      'not_confirmed',
      `this would end ${running} and remove the disks of the cluster ${name}`,
      {
        hint: 'say --yes, or see with --dry-run what there is',
      },
    )
  }
  if (await run.confirm(`destroy the cluster ${name}, its disks and its secrets? [y/N] `)) return
  throw new CliFault('not_confirmed', 'nothing was done', { hint: 'answer y, or say --yes' })
}
