/** What is there of a cluster of machines: files, processes, its context. Changes nothing. */
import { existsSync } from 'node:fs'
import { loadOrNone } from '../context.ts'
import { findMachine, type MachinePlace, type RunningMachine } from '../machine/detached.ts'
import { readSecrets } from '../secrets.ts'
import { listMachines, type ClusterFolder } from './folder.ts'
import type { Seen } from './plan.ts'
import { readRecord, type ClusterNode, type ClusterRecord } from './record.ts'

export type ObserveOptions = {
  readonly name: string
  readonly folder: ClusterFolder
  /** The file of contexts, where the record does not name one. */
  readonly contextFile: string
  readonly signal: AbortSignal
}

/** Throws CliFault `cluster_damaged` for a record that is not whole, or what is wrong with the file of contexts. */
export async function observeCluster(options: ObserveOptions): Promise<Seen> {
  const { name, folder, signal } = options
  const record = await readRecord(folder.path, name)
  const nodes = record?.nodes ?? (await listMachines(folder)).map((node) => ({ name: node }))
  const hasSecrets = existsSync(folder.secrets)
  const authority = hasSecrets ? await readAuthority(folder, signal) : undefined
  return {
    record,
    secrets: authority !== undefined ? 'there' : hasSecrets ? 'damaged' : 'none',
    hasImage: existsSync(folder.image),
    disks: nodes.filter((node) => existsSync(diskFile(folder, node))).map((node) => node.name),
    running: nodes.filter((node) => findNode(folder, node) !== undefined).map((node) => node.name),
    context: await contextState({ file: record?.contextFile ?? options.contextFile, name, authority }),
  }
}

export function placeOf(folder: ClusterFolder, node: Pick<ClusterNode, 'name'>): MachinePlace {
  return { folder: folder.node(node.name), name: node.name }
}

export function findNode(folder: ClusterFolder, node: Pick<ClusterNode, 'name'>): RunningMachine | undefined {
  return findMachine(placeOf(folder, node))
}

export function runningNodes(folder: ClusterFolder, record: ClusterRecord): readonly ClusterNode[] {
  return record.nodes.filter((node) => findNode(folder, node) !== undefined)
}

/** Undefined when the secrets cannot be read: a damaged cluster can be taken away all the same. */
async function readAuthority(folder: ClusterFolder, signal: AbortSignal): Promise<string | undefined> {
  try {
    return (await readSecrets(folder.secrets, signal)).nodeCa.certificatePem
  } catch {
    signal.throwIfAborted()
    return undefined
  }
}

/** The name that `prepareFiles` gives to a machine's disk. */
export function diskFile(folder: ClusterFolder, { name }: Pick<ClusterNode, 'name'>): string {
  return `${folder.node(name)}/${name}.disk`
}

/** A context is the cluster's own when it trusts the cluster's authority. */
async function contextState(options: {
  readonly file: string
  readonly name: string
  readonly authority: string | undefined
}): Promise<Seen['context']> {
  const { contexts } = await loadOrNone(options.file)
  const context = Object.hasOwn(contexts, options.name) ? contexts[options.name] : undefined
  if (context === undefined) return 'none'
  return context.authorities.trim() === options.authority?.trim() ? 'own' : 'foreign'
}
