import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  clusterFolder,
  isClusterFolder,
  listMachines,
  removeFolder,
} from '../../../../agent/cli/cluster/folder.ts'

const FOLDERS = ['image', 'image.partial', 'nodes']
const FILES = ['cluster.json', 'secrets.yaml', '.cluster.json.0123456789ab', '.secrets.yaml.0123456789ab']

let clusters = ''
beforeEach(async () => {
  clusters = await mkdtemp(join(tmpdir(), 'stele-clusters-'))
})
afterEach(async () => {
  await rm(clusters, { recursive: true, force: true })
})

describe('the folder of a cluster', () => {
  it('is one when a kill left it, without a record or anything else', async () => {
    const path = join(clusters, 'demo')
    expect(await isClusterFolder(path)).toBe(false)
    await fill(path, [])
    expect(await isClusterFolder(path)).toBe(true)
    await fill(path, ['nodes', '.cluster.json.0123456789ab'])
    expect(await isClusterFolder(path)).toBe(true)
    await fill(path, ['thesis.txt'])
    expect(await isClusterFolder(path)).toBe(false)
  })

  it('goes whole, whatever a kill left of it; what is not ours stays', async () => {
    const ours = fc.subarray([...FOLDERS, ...FILES])
    const strangers = fc.subarray(['thesis.txt', '.cluster.json.xyz', 'secrets.yaml.orig'])
    await fc.assert(
      fc.asyncProperty(ours, strangers, async (own, strange) => {
        const path = join(clusters, 'demo')
        await fill(path, [...own, ...strange])
        expect(new Set(await removeFolder(path))).toEqual(new Set(strange))
        expect(await readdir(clusters)).toEqual(strange.length === 0 ? [] : ['demo'])
        await rm(path, { recursive: true, force: true })
      }),
      { numRuns: 30 },
    )
  })

  it('goes without what its links lead to', async () => {
    const path = join(clusters, 'demo')
    await fill(join(clusters, 'outside'), ['thesis.txt'])
    await fill(path, ['cluster.json'])
    await symlink(join(clusters, 'outside'), join(path, 'nodes'))
    expect(await removeFolder(path)).toEqual([])
    expect(await readdir(join(clusters, 'outside'))).toEqual(['thesis.txt'])
  })

  it('tells its machines without a record', async () => {
    const folder = clusterFolder(clusters, 'demo')
    expect(await listMachines(folder)).toEqual([])
    await mkdir(folder.node('demo-worker-1'), { recursive: true })
    await mkdir(folder.node('demo-cp-1'), { recursive: true })
    expect(await listMachines(folder)).toEqual(['demo-cp-1', 'demo-worker-1'])
  })
})

async function fill(path: string, names: readonly string[]): Promise<void> {
  await mkdir(path, { recursive: true })
  for (const name of names) {
    if (FOLDERS.includes(name)) await mkdir(join(path, name, 'deep'), { recursive: true })
    else await writeFile(join(path, name), 'x')
  }
}
