/** `stelectl cluster create` and `start`: both go from what is there to a cluster that runs. */
import { join, resolve } from 'node:path'
import { askReady, openAccess } from '../cluster/access.ts'
import { clusterFolder, clustersFolder, requireOwn, type ClusterFolder } from '../cluster/folder.ts'
import { lockCluster } from '../cluster/lock.ts'
import { beginCluster, raiseMachines, requireImageOf, type ActOptions } from '../cluster/machines.ts'
import { observeCluster, placeOf } from '../cluster/observe.ts'
import { decideRaise, planNodes, unknownCluster, type Seen, type Step, type Wanted } from '../cluster/plan.ts'
import { untilReady } from '../cluster/ready.ts'
import type { ClusterRecord, ClusterSpec } from '../cluster/record.ts'
import { rowsTable, viewNode, type NodeRow } from '../cluster/view.ts'
import { formatElapsed } from '../duration.ts'
import type { ExitCode } from '../failure.ts'
import { fanOut, report } from '../fan-out.ts'
import { openImage, requireBootable, requireWhole } from '../machine/image.ts'
import { requireTools } from '../machine/tool.ts'
import type { Run } from '../run.ts'
import { readSecrets } from '../secrets.ts'

export type StartOptions = { readonly wait: string | boolean }
export type CreateOptions = StartOptions & {
  readonly controlPlanes: number
  readonly workers: number
  readonly memory: number
  readonly disk: number
  readonly image: string
  readonly boot: ClusterSpec['boot']
  readonly dryRun?: boolean
}

type Row = NodeRow & { readonly readyMs?: number }

/** Where the image build of a checkout keeps its tools, for a host that has none of its own. */
const TOOLS_CACHE = '.cache/images/tools'
/** Of an image, what a cluster keeps beside its disks. */
const SAVED = ['vmlinuz', 'initrd.zst'] as const
const READY_MS = 10 * 60_000

export async function createCluster(run: Run<CreateOptions>): Promise<ExitCode> {
  const { controlPlanes, workers, memory, disk, boot } = run.options
  const [name = ''] = run.operands
  const image = resolve(run.options.image)
  const spec = { controlPlanes, workers, memoryMiB: memory, diskGiB: disk, boot, image }
  const { path } = clusterFolder(clustersFolder(run.env), name)
  await requireOwn(path)
  const opened = openImage(image)
  requireBootable(opened)
  const wanted: Wanted = { name, spec, rootHash: opened.manifest.rootHash }
  return raise(run, name, wanted)
}

export async function startCluster(run: Run<StartOptions>): Promise<ExitCode> {
  return raise(run, run.operands[0] ?? '', undefined)
}

async function raise(
  run: Run<StartOptions & { readonly dryRun?: boolean }>,
  name: string,
  wanted: Wanted | undefined,
): Promise<ExitCode> {
  const { clock, signal } = run
  const clusters = clustersFolder(run.env)
  const folder = clusterFolder(clusters, name)
  await using _lock = await lockCluster(folder.path)
  const contextFile = resolve(run.shared.configPath)
  const seen = await observeCluster({ name, folder, contextFile, signal })
  if (wanted === undefined && seen.record === undefined) throw unknownCluster(name)
  const steps = decideRaise(wanted, seen)
  if (!steps.ok) throw steps.error
  requireSaved(seen, folder)
  if (run.options.dryRun === true && wanted !== undefined) return showPlan(run, wanted, steps.value)
  const tools = requireTools(resolve(TOOLS_CACHE))
  const options: ActOptions = {
    ...{ name, clusters, folder, tools, contextFile, clock, signal },
    onMachine: (node, { pid, acceleration }) =>
      run.output.note(`${node}  on, process ${pid}, ${acceleration}`),
  }
  sayResumed(run, seen, steps.value)
  const begun = seen.record ?? (wanted === undefined ? undefined : await beginCluster(wanted, options))
  if (begun === undefined) throw unknownCluster(name)
  signal.addEventListener('abort', () => run.output.note(leftBehind(name)), { once: true })
  const raised = await raiseMachines(begun, steps.value, options)
  // Not awaited: the lock ends here. Waiting changes nothing, and who does not want to wait may stop or destroy.
  return showReady(run, raised, options)
}

/** Throws CliFault `image_invalid` or `cluster_differs` when machines would not start from what the cluster was begun with. */
function requireSaved({ record, hasImage, disks }: Seen, folder: ClusterFolder): void {
  if (record === undefined) return
  if (hasImage)
    requireWhole(openImage(folder.image), SAVED, `stelectl cluster destroy ${record.name}, and make it anew`)
  if (disks.length < record.nodes.length) requireImageOf(record)
}

function leftBehind(name: string): string {
  return `what is on stays on: the same command goes on with ${name}, and stelectl cluster destroy ${name} takes it away`
}

function sayResumed(run: Run<unknown>, seen: Seen, steps: readonly Step[]): void {
  if (seen.record === undefined) return
  const on = seen.running.length === 0 ? 'no machine' : seen.running.join(', ')
  const left = steps.length === 0 ? 'nothing' : steps.map(describeStep).join(', ')
  run.output.note(`the cluster ${seen.record.name} is there, ${on} on; left to do: ${left}`)
}

async function showReady(
  run: Run<StartOptions>,
  record: ClusterRecord,
  { folder }: ActOptions,
): Promise<ExitCode> {
  const rows = () => record.nodes.map((node) => viewNode(folder, record, node))
  if (rows().some(({ acceleration }) => acceleration === 'emulation')) {
    run.output.note('note: KVM does not work here: the machines are emulated, and some ten times slower')
  }
  const isWaiting = run.options.wait !== false && run.options.wait !== 'false'
  const { clock, signal } = run
  const open = await openAccess(await readSecrets(folder.secrets, signal), clock)
  const began = clock.monotonic()
  const outcomes = await fanOut(
    record.nodes.map((node) => ({ name: node.name, node })),
    async ({ node }): Promise<Row> => {
      if (!isWaiting) return viewNode(folder, record, node)
      const elapsed = () => clock.monotonic() - began
      await untilReady({
        place: placeOf(folder, node),
        ask: (bounded) => askReady(open, node, bounded),
        onPhase: (phase) => run.output.note(`${node.name}  ${phase}  ${formatElapsed(elapsed())}`),
        deadlineMs: run.shared.timeoutMs ?? READY_MS,
        clock,
        signal,
      })
      return { ...viewNode(folder, record, node), readyMs: Math.round(elapsed()) }
    },
  )
  signal.throwIfAborted()
  run.output.note(
    `context ${record.name} is in ${record.contextFile}: stelectl --context ${record.name} status`,
  )
  return report(run.output, outcomes, {
    data: (row) => row,
    text: (answered) => rowsTable(answered.map(({ value }) => value)),
  })
}

function showPlan(run: Run<unknown>, wanted: Wanted, steps: readonly Step[]): ExitCode {
  const { name, spec } = wanted
  const { path } = clusterFolder(clustersFolder(run.env), name)
  const nodes = planNodes(name, spec)
  run.output.result({ dryRun: true, cluster: name, folder: path, spec, nodes, steps }, () =>
    [
      steps.length === 0 ? `the cluster ${name} runs: nothing would be done` : `would make, in ${path}:`,
      ...steps.map((step) => `  ${describeStep(step)}`),
      `machines: ${spec.memoryMiB} MiB of memory, ${spec.diskGiB} GiB of disk, ${spec.boot}, ${join(spec.image, 'disk.raw')}`,
      ...nodes.map((node) => `  ${node.name}  ${node.role}  10.0.${node.network}.15  ${node.address}`),
    ].join('\n'),
  )
  return 0
}

function describeStep(step: Step): string {
  switch (step.kind) {
    case 'record':
      return 'the record of the cluster'
    case 'secrets':
      return 'its secrets'
    case 'image':
      return 'copies of kernel and initrd'
    case 'power-on':
      return `${step.node} on`
    case 'context':
      return 'its context'
  }
}
