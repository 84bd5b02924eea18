/** Carries out the steps of a plan with machines of QEMU. Each may be cut off at any moment and done again. */
import { copyFile, mkdir, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { formatFinding } from '#config'
import { makeFolder } from '#kit/folder'
import { createClusterSecrets, type ClusterSecrets } from '#pki'
import { parseManifests, renderAll } from '#render'
import { CliFault } from '../fault.ts'
import { unwritable } from '../file.ts'
import { KUBERNETES_VERSION, manifestsOf } from '../manifest.ts'
import { startDetached, type RunningMachine, type Waiting } from '../machine/detached.ts'
import { copyDisk } from '../machine/disk.ts'
import { openImage, requireBootable, type Image } from '../machine/image.ts'
import type { Tools } from '../machine/tool.ts'
import { readSecrets, writeSecrets } from '../secrets.ts'
import { writeContext } from './access.ts'
import { listClusters, type ClusterFolder } from './folder.ts'
import { diskFile, runningNodes } from './observe.ts'
import { API_PORT, planNodes, TRUST_PORT, type Step, type Wanted } from './plan.ts'
import { freePorts, freeWire } from './port.ts'
import { readRecord, writeRecord, type ClusterNode, type ClusterRecord } from './record.ts'

export type ActOptions = Waiting & {
  readonly name: string
  /** Folder of all clusters, and of this one. */
  readonly clusters: string
  readonly folder: ClusterFolder
  readonly tools: Tools
  readonly contextFile: string
  readonly onMachine: (node: string, machine: RunningMachine) => void
}

const KUBERNETES_PORT = 6443
const MASK = '255.255.255.0'

/** Writes the first record: with it begins a cluster. */
export async function beginCluster(wanted: Wanted, options: ActOptions): Promise<ClusterRecord> {
  const { name, spec, rootHash } = wanted
  const nodes = planNodes(name, spec)
  const ports = await freePorts(
    '127.0.0.1',
    nodes.map(() => 0),
  )
  const record: ClusterRecord = {
    ...({ kind: 'stele-cluster', version: 1, provisioner: 'qemu' } as const),
    ...{ name, spec, rootHash, contextFile: options.contextFile },
    wirePort: await freeWire(0, await otherWires(options)),
    nodes: nodes.map((node, index) => ({ ...node, apiPort: ports[index] ?? 0 })),
  }
  try {
    makeFolder(options.folder.path, 0o700)
  } catch (cause) {
    throw unwritable(options.folder.path, cause)
  }
  await writeRecord(options.folder.path, record)
  return record
}

/** Does the steps after the record, in order, and returns the record as it is then: a port that somebody took meanwhile is another one. */
export async function raiseMachines(
  begun: ClusterRecord,
  steps: readonly Step[],
  options: ActOptions,
): Promise<ClusterRecord> {
  const { folder, clock, signal } = options
  const record = await settlePorts(begun, options)
  for (const step of steps) {
    signal.throwIfAborted()
    switch (step.kind) {
      case 'record':
        break
      case 'secrets':
        // Replaced as a whole, so that a kill leaves all of it or nothing.
        await writeSecrets(folder.secrets, await createClusterSecrets({ now: clock.now() }), { force: true })
        break
      case 'image':
        await copyImage(openImage(record.spec.image), folder.image)
        break
      case 'power-on':
        options.onMachine(step.node, await powerOn(record, step.node, options))
        break
      case 'context':
        await writeContext(record, await readSecrets(folder.secrets, signal), clock)
    }
  }
  return record
}

/** What the machines are told, by name. Throws CliFault `failed` when manifests of ours are refused. */
export async function renderUserData(
  record: ClusterRecord,
  secrets: ClusterSecrets,
): Promise<ReadonlyMap<string, string>> {
  const planes = record.nodes.filter(({ role }) => role === 'control-plane')
  const manifests = parseManifests(
    await manifestsOf({
      cluster: record.name,
      endpoint: { host: planes[0]?.address ?? '', port: KUBERNETES_PORT },
      kubernetesVersion: KUBERNETES_VERSION,
      controlPlanes: record.spec.controlPlanes,
      workers: record.spec.workers,
    }),
    { file: 'manifests' },
  )
  const trustEndpoints = planes.map(({ address }) => `${address}:${TRUST_PORT}`)
  const rendered = manifests.ok ? renderAll(manifests.value, secrets, { trustEndpoints }) : manifests
  if (!rendered.ok) throw new CliFault('failed', rendered.error.map(formatFinding).join('\n'))
  return new Map(rendered.value.map(({ machineName, userData }) => [machineName, userData]))
}

/** Throws CliFault `cluster_differs` when the image that disks are copied from is not the one that the cluster was begun with, or is not whole. */
export function requireImageOf({
  name,
  rootHash,
  spec,
}: Pick<ClusterRecord, 'name' | 'rootHash'> & { readonly spec: Pick<ClusterRecord['spec'], 'image'> }): void {
  const image = openImage(spec.image)
  requireBootable(image)
  if (image.manifest.rootHash === rootHash) return
  throw new CliFault(
    'cluster_differs',
    `the image in ${spec.image} is another one since the cluster was begun`,
    {
      hint: `stelectl cluster destroy ${name}, and make it anew`,
    },
  )
}

async function powerOn(record: ClusterRecord, name: string, options: ActOptions): Promise<RunningMachine> {
  const { folder, tools, signal } = options
  const node = record.nodes.find((one) => one.name === name)
  if (node === undefined) throw new CliFault('failed', `the record has no node ${name}`)
  const userData = (await renderUserData(record, await readSecrets(folder.secrets, signal))).get(name)
  await mkdir(folder.node(name), { recursive: true, mode: 0o700 })
  const { image, diskGiB } = record.spec
  await copyDisk({ from: join(image, 'disk.raw'), to: diskFile(folder, node), giB: diskGiB, signal })
  const needs = {
    ...{ boot: record.spec.boot, name, folder: folder.node(name), network: node.network },
    ...{ memoryMiB: record.spec.memoryMiB, diskGiB: record.spec.diskGiB },
    ...(userData === undefined ? {} : { userData }),
    link: { port: record.wirePort, mac: node.mac, address: node.address, mask: MASK },
  }
  const ports = new Map([[API_PORT, node.apiPort]])
  return startDetached({ image: openImage(folder.image), tools, needs, ports }, options)
}

/** Keeps the ports where they are free still, for all nodes that are off; the wire only moves while none is on. */
async function settlePorts(record: ClusterRecord, options: ActOptions): Promise<ClusterRecord> {
  const running = runningNodes(options.folder, record).map(({ name }) => name)
  const off = record.nodes.filter(({ name }) => !running.includes(name))
  const ports = await freePorts(
    '127.0.0.1',
    off.map(({ apiPort }) => apiPort),
  )
  const portOf = new Map(off.map(({ name }, index) => [name, ports[index]]))
  const wirePort =
    running.length > 0 ? record.wirePort : await freeWire(record.wirePort, await otherWires(options))
  const settled: ClusterRecord = {
    ...record,
    wirePort,
    nodes: record.nodes.map((node): ClusterNode => ({
      ...node,
      apiPort: portOf.get(node.name) ?? node.apiPort,
    })),
  }
  if (JSON.stringify(settled) !== JSON.stringify(record)) await writeRecord(options.folder.path, settled)
  return settled
}

/** Wires of the other clusters, also of those that are off: machines of two clusters on one wire would have the same addresses. */
async function otherWires({ clusters, name }: ActOptions): Promise<readonly number[]> {
  const others = (await listClusters(clusters)).filter((other) => other !== name)
  // A damaged record of another cluster is no reason to refuse this one.
  const records = await Promise.all(
    others.map((other) => readRecord(join(clusters, other), other).catch(() => undefined)),
  )
  return records.flatMap((record) => record?.wirePort ?? [])
}

/** All but the disk, which every machine has a copy of. The folder appears whole. Throws CliFault `image_invalid`, `file_unwritable`. */
async function copyImage(image: Image, target: string): Promise<void> {
  requireBootable(image)
  const partial = `${target}.partial`
  const texts = ['cmdline', 'manifest.json'].map((name) => join(image.folder, name))
  try {
    await rm(partial, { recursive: true, force: true })
    await mkdir(partial, { mode: 0o700 })
    for (const file of [image.kernel, image.initrd, ...texts]) {
      await copyFile(file, join(partial, basename(file)))
    }
    await rename(partial, target)
  } catch (cause) {
    throw unwritable(target, cause)
  }
}
