import { expect, it } from 'vitest'
import { clusterFolder } from '../../../../agent/cli/cluster/folder.ts'
import { beginCluster, type ActOptions } from '../../../../agent/cli/cluster/machines.ts'
import { wantedOf } from './record-of.ts'

it('refuses, and soon, a place that takes no folder', async () => {
  const clusters = '/proc/x/stele'
  const options: Partial<ActOptions> = {
    ...{ name: 'demo', clusters, folder: clusterFolder(clusters, 'demo'), contextFile: '/ctx.yaml' },
  }
  await expect(beginCluster(wantedOf(), options as ActOptions)).rejects.toMatchObject({
    code: 'file_unwritable',
    message: '/proc/x/stele/demo cannot be written: ENOENT',
  })
})
