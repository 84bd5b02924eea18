import { expect, it } from 'vitest'
import { clusterFolder } from '../../../../agent/cli/cluster/folder.ts'
import { rowsTable, viewNode } from '../../../../agent/cli/cluster/view.ts'
import { recordOf } from './record-of.ts'

const folder = clusterFolder('/clusters', 'demo')

it('shows a machine that is off with where it will be reached', () => {
  const [node] = recordOf().nodes
  if (node === undefined) throw new Error('the record has no node')
  const row = viewNode(folder, recordOf(), node)
  expect(row).toEqual({
    cluster: 'demo',
    node: 'demo-cp-1',
    role: 'control-plane',
    state: 'stopped',
    endpoint: '127.0.0.1:30000',
    console: '/clusters/demo/nodes/demo-cp-1/demo-cp-1.console.log',
  })
  expect(rowsTable([row, { ...row, node: 'w', state: 'running', pid: 7, acceleration: 'kvm' }])).toBe(
    [
      'CLUSTER  NODE       ROLE           STATE    PID  CPU  API              CONSOLE',
      'demo     demo-cp-1  control-plane  stopped  -    -    127.0.0.1:30000  /clusters/demo/nodes/demo-cp-1/demo-cp-1.console.log',
      'demo     w          control-plane  running  7    kvm  127.0.0.1:30000  /clusters/demo/nodes/demo-cp-1/demo-cp-1.console.log',
    ].join('\n'),
  )
})
