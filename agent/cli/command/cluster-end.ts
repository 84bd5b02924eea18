/** `stelectl cluster stop` and `destroy`. */
import { lstat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { openAccess } from '../cluster/access.ts'
import { clusterFolder, clustersFolder, removeFolder } from '../cluster/folder.ts'
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
  const contextFile = resolve(run.shared.configPath)
  const seen = await observeCluster({ name, folder, contextFile, signal })
  const { record } = seen
  if (record === undefined) throw unknownCluster(name)
  const running = seen.running.length === 0 ? 'no machine' : seen.running.join(', ')
  const context = seen.context === 'own' ? record.contextFile : undefined
  const summary = {
    cluster: name,
    running: seen.running,
    folder: folder.path,
    ...(context === undefined ? {} : { context }),
  }
  if (run.options.dryRun === true) {
    run.output.result({ dryRun: true, ...summary }, () =>
      [
        `would destroy the cluster ${name}:`,
        `  ends ${running}`,
        ...(context === undefined ? [] : [`  takes the context ${name} out of ${context}`]),
        `  removes ${folder.path}`,
      ].join('\n'),
    )
    return 0
  }
  await requireYes(run, name, running)
  for (const node of record.nodes) await cutPower(placeOf(folder, node), { clock, signal, graceMs: 0 })
  if (context !== undefined) await removeContext(context, name)
  const kept = await removeFolder(folder.path)
  if (kept.length > 0) run.output.warning(`${folder.path} stays: it holds ${kept.join(', ')}`)
  run.output.result({ ...summary, kept }, () => `the cluster ${name} is gone; ended ${running}`)
  return 0
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
