/**
 * `cluster.json`: what a cluster of machines is, written before anything else of it is made. It is enough to go on with a cluster that was half
 * made, and to take one away. Nothing in it is a secret.
 */
import { join } from 'node:path'
import { z } from 'zod'
import { CliFault } from '../fault.ts'
import { readInput, writePrivate } from '../file.ts'

export const RECORD_FILE = 'cluster.json'

const port = z.int().min(1).max(65_535)
const specSchema = z.strictObject({
  controlPlanes: z.int().min(1).max(9),
  workers: z.int().min(0).max(32),
  memoryMiB: z.int().min(1),
  diskGiB: z.int().min(1),
  boot: z.enum(['firmware', 'kernel']),
  /** The folder that the image came from, as an absolute path. */
  image: z.string(),
})
const nodeSchema = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9.-]{0,62}$/),
  role: z.enum(['control-plane', 'worker']),
  /** N of the network 10.0.N.0/24 that is the machine's own. */
  network: z.int().min(2).max(254),
  /** Address and hardware address on the wire of the cluster. */
  address: z.ipv4(),
  mac: z.string().regex(/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/),
  /** Port of 127.0.0.1 that leads to the API of the node. */
  apiPort: port,
})
const recordSchema = z.strictObject({
  kind: z.literal('stele-cluster'),
  version: z.literal(1),
  name: z.string(),
  provisioner: z.literal('qemu'),
  spec: specSchema,
  /** Of the image that every disk was copied from. */
  rootHash: z.string(),
  wirePort: port,
  /** File of contexts with the context of the cluster. */
  contextFile: z.string(),
  nodes: z.array(nodeSchema).min(1),
})

export type ClusterSpec = Readonly<z.infer<typeof specSchema>>
export type ClusterNode = Readonly<z.infer<typeof nodeSchema>>
export type ClusterRecord = Readonly<Omit<z.infer<typeof recordSchema>, 'nodes'>> & {
  readonly nodes: readonly ClusterNode[]
}

/** The record in a folder; undefined when there is none. Throws CliFault `cluster_damaged` for one that is not whole, or of another cluster. */
export async function readRecord(folder: string, name: string): Promise<ClusterRecord | undefined> {
  const file = join(folder, RECORD_FILE)
  const text = await readText(file)
  if (text === undefined) return undefined
  const json = parseJson(text)
  if (json === undefined) throw damaged(file, 'it is not whole')
  const parsed = recordSchema.safeParse(json)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw damaged(
      file,
      issue === undefined ? 'it is not whole' : `${issue.path.join('.') || 'it'}: ${issue.message}`,
    )
  }
  if (parsed.data.name !== name) throw damaged(file, 'it is the record of a cluster with another name')
  return parsed.data
}

/** Replaces the record as a whole, flushed to the disk. */
export async function writeRecord(folder: string, record: ClusterRecord): Promise<void> {
  await writePrivate(join(folder, RECORD_FILE), `${JSON.stringify(record, undefined, 2)}\n`)
}

async function readText(file: string): Promise<string | undefined> {
  try {
    return (await readInput(file)).bytes.toString()
  } catch (fault) {
    const cause = fault instanceof CliFault ? fault.cause : undefined
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined
    throw damaged(file, fault instanceof Error ? fault.message : 'it cannot be read', fault)
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function damaged(file: string, why: string, cause?: unknown): CliFault {
  return new CliFault('cluster_damaged', `${file} is no record of a cluster: ${why}`, {
    hint: 'nothing was touched: end the processes whose command names this folder, then remove the folder by hand',
    cause,
  })
}
