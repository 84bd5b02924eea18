/** Where clusters of machines are kept on this host, and which files there are ours. */
import { lstat, readdir, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { CliFault } from '../fault.ts'
import { RECORD_FILE } from './record.ts'

const SECRETS_FILE = 'secrets.yaml'
const NODES = 'nodes'
const OWN = new Set([RECORD_FILE, SECRETS_FILE, 'image', 'image.partial', NODES])
/** What a writer that was killed left of a file that it was about to replace, as `writePrivate` names it. */
const LEFT_OVER = /^\.(cluster\.json|secrets\.yaml)\.[0-9a-f]{12}$/

export type ClusterFolder = {
  readonly path: string
  readonly secrets: string
  /** Copies of what machines need of the image to start again when the build has moved on. */
  readonly image: string
  readonly node: (name: string) => string
}

/** `stele/clusters` below `$XDG_STATE_HOME`, else below `~/.local/state` (XDG Base Directory Specification 0.8). */
export function clustersFolder(env: Readonly<Record<string, string | undefined>>): string {
  const base = env['XDG_STATE_HOME'] ?? ''
  const state = base.startsWith('/') ? base : join(env['HOME'] ?? '.', '.local', 'state')
  return join(state, 'stele', 'clusters')
}

/** Throws CliFault `usage` for what cannot be a name: it becomes a folder, a context and a part of host names. */
export function clusterFolder(clusters: string, name: string): ClusterFolder {
  if (!/^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/.test(name)) {
    throw new CliFault('usage', `${JSON.stringify(name)} cannot be the name of a cluster`, {
      hint: 'a name is 1 to 40 of lower-case letters, digits and -, as in demo',
    })
  }
  const path = join(clusters, name)
  return {
    path,
    secrets: join(path, SECRETS_FILE),
    image: join(path, 'image'),
    node: (node) => join(path, NODES, node),
  }
}

/** Names of the folders below that hold anything of a cluster, in order; none when nothing was ever made. */
export async function listClusters(clusters: string): Promise<readonly string[]> {
  const entries = await readdir(clusters, { withFileTypes: true }).catch(() => [])
  const names: string[] = []
  for (const entry of entries) {
    if (entry.isDirectory() && (await readdir(join(clusters, entry.name)).catch(() => [])).some(isOwn)) {
      names.push(entry.name)
    }
  }
  return names.sort()
}

/** Names of the machines whose files are in a folder, whatever the record says. */
export async function listMachines({ path }: ClusterFolder): Promise<readonly string[]> {
  const entries = await readdir(join(path, NODES), { withFileTypes: true }).catch(() => [])
  return entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort()
}

/** True for a folder with nothing in it that is not ours. One without a record is what a kill left, before the first line or after the last. */
export async function isClusterFolder(path: string): Promise<boolean> {
  const entries = await readdir(path).catch(() => undefined)
  return entries?.every(isOwn) ?? false
}

/** Throws CliFault `folder_foreign` when a cluster cannot be made in the folder: something there is not of ours. */
export async function requireOwn(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined)
  if (found === undefined) return
  const strange = found.isDirectory()
    ? (await readdir(path)).filter((entry) => !isOwn(entry))
    : ['a link or a file']
  if (strange.length === 0) return
  throw new CliFault(
    'folder_foreign',
    `${path} holds something that is not of a cluster: ${strange.slice(0, 3).join(', ')}`,
    {
      hint: 'choose another name, or move it away',
    },
  )
}

/**
 * Removes what is ours, the record last: killed at any moment, the same call goes on. Returns the names of what else is there, which stays, and the
 * folder with it.
 */
export async function removeFolder(path: string): Promise<readonly string[]> {
  const entries = await readdir(path)
  for (const entry of entries.filter((one) => isOwn(one) && one !== RECORD_FILE)) {
    await rm(join(path, entry), { recursive: true, force: true })
  }
  await rm(join(path, RECORD_FILE), { force: true })
  const strange = entries.filter((entry) => !isOwn(entry))
  if (strange.length === 0) await rmdir(path)
  return strange
}

function isOwn(entry: string): boolean {
  return OWN.has(entry) || LEFT_OVER.test(entry)
}
