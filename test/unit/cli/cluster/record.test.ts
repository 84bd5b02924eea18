import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  clusterFolder,
  clustersFolder,
  listClusters,
  removeFolder,
  requireOwn,
} from '../../../../agent/cli/cluster/folder.ts'
import { planNodes } from '../../../../agent/cli/cluster/plan.ts'
import { readRecord, writeRecord, type ClusterRecord } from '../../../../agent/cli/cluster/record.ts'

let folder: string
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'cluster-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const spec = {
  controlPlanes: 1,
  workers: 1,
  memoryMiB: 2048,
  diskGiB: 4,
  boot: 'kernel',
  image: '/i',
} as const
const record: ClusterRecord = {
  kind: 'stele-cluster',
  version: 1,
  provisioner: 'qemu',
  name: 'demo',
  spec,
  rootHash: 'aa',
  wirePort: 4000,
  contextFile: '/contexts',
  nodes: planNodes('demo', spec).map((node, index) => ({ ...node, apiPort: 5000 + index })),
}
const text = JSON.stringify(record)

describe('the record of a cluster', () => {
  it('is read as it was written, and there is none in an empty folder', async () => {
    expect(await readRecord(folder, 'demo')).toBeUndefined()
    await writeRecord(folder, record)
    expect(await readRecord(folder, 'demo')).toEqual(record)
    expect(readdirSync(folder)).toEqual(['cluster.json'])
  })

  it.each([
    ['empty', ''],
    ['cut off', text.slice(0, -20)],
    ['of a later version', text.replace('"version":1', '"version":2')],
    ['of another kind', text.replace('stele-cluster', 'something')],
    ['with a field that nobody knows', text.replace('{', '{"more":1,')],
    ['without nodes', JSON.stringify({ ...record, nodes: [] })],
    ['with a port that is none', text.replace('5000', '70000')],
    ['with a node whose name leads elsewhere', text.replace('demo-cp-1', '../cp-1')],
    ['of another cluster', text.replace('"name":"demo"', '"name":"other"')],
    ['larger than any', text + ' '.repeat(2 * 1024 ** 2)],
  ])('is damaged, and says that nothing was touched, when it is %s', async (_, content) => {
    writeFileSync(join(folder, 'cluster.json'), content)
    await expect(readRecord(folder, 'demo')).rejects.toMatchObject({
      code: 'cluster_damaged',
      hint: expect.stringContaining('nothing was touched') as string,
    })
  })

  it('is damaged when it is no file', async () => {
    mkdirSync(join(folder, 'cluster.json'))
    await expect(readRecord(folder, 'demo')).rejects.toMatchObject({ code: 'cluster_damaged' })
  })
})

describe('the folder of a cluster', () => {
  it('is below XDG_STATE_HOME when that is an absolute path, else below the home', () => {
    expect(clustersFolder({ XDG_STATE_HOME: '/s', HOME: '/h' })).toBe('/s/stele/clusters')
    for (const XDG_STATE_HOME of ['', 'relative', undefined]) {
      expect(clustersFolder({ XDG_STATE_HOME, HOME: '/h' })).toBe('/h/.local/state/stele/clusters')
    }
  })

  it.each(['', '.', '..', 'a/b', '../a', '-a', 'a-', 'A', 'a_b', 'a.b', 'a'.repeat(41), 'a\n'])(
    'is none for the name %j',
    (name) => {
      expect(() => clusterFolder(folder, name)).toThrow(/cannot be the name/)
    },
  )

  it('lists folders alone, in order, and none with nothing of a cluster in it', async () => {
    for (const name of ['b', 'a']) mkdirSync(join(folder, name, 'nodes'), { recursive: true })
    mkdirSync(join(folder, 'empty'))
    writeFileSync(join(folder, 'file'), '')
    expect(await listClusters(folder)).toEqual(['a', 'b'])
    expect(await listClusters(join(folder, 'none'))).toEqual([])
  })

  it('is ours when all in it is, or it is not there', async () => {
    const path = join(folder, 'demo')
    await requireOwn(path)
    mkdirSync(join(path, 'nodes'), { recursive: true })
    mkdirSync(join(path, 'image.partial'))
    writeFileSync(join(path, '.cluster.json.0123456789ab'), '')
    await requireOwn(path)
    writeFileSync(join(path, 'thesis.txt'), '')
    await expect(requireOwn(path)).rejects.toMatchObject({ code: 'folder_foreign' })
  })

  it('is not ours when it is a link or a file', async () => {
    symlinkSync('/', join(folder, 'link'))
    writeFileSync(join(folder, 'file'), '')
    for (const name of ['link', 'file'])
      await expect(requireOwn(join(folder, name))).rejects.toMatchObject({ code: 'folder_foreign' })
  })

  it('is removed with what is ours; what is not stays, and is named', async () => {
    const path = join(folder, 'demo')
    mkdirSync(join(path, 'nodes/demo-cp-1'), { recursive: true })
    await writeRecord(path, record)
    writeFileSync(join(path, 'thesis.txt'), '')
    expect(await removeFolder(path)).toEqual(['thesis.txt'])
    expect(readdirSync(path)).toEqual(['thesis.txt'])
    rmSync(join(path, 'thesis.txt'))
    expect(await removeFolder(path)).toEqual([])
    expect(readdirSync(folder)).toEqual([])
  })
})
