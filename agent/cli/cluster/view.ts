/** A node of a cluster of machines as it is shown. */
import { consoleFile } from '../machine/detached.ts'
import { table } from '../text.ts'
import type { ClusterFolder } from './folder.ts'
import { findNode, placeOf } from './observe.ts'
import type { ClusterNode, ClusterRecord } from './record.ts'

export type NodeRow = {
  readonly cluster: string
  readonly node: string
  readonly role: ClusterNode['role']
  readonly state: 'running' | 'stopped'
  readonly pid?: number
  readonly acceleration?: 'kvm' | 'emulation'
  /** Where its API is reached from here. */
  readonly endpoint: string
  readonly console: string
}

const HEAD = ['CLUSTER', 'NODE', 'ROLE', 'STATE', 'PID', 'CPU', 'API', 'CONSOLE']

export function viewNode(
  folder: ClusterFolder,
  record: Pick<ClusterRecord, 'name'>,
  node: ClusterNode,
): NodeRow {
  const machine = findNode(folder, node)
  return {
    cluster: record.name,
    node: node.name,
    role: node.role,
    state: machine === undefined ? 'stopped' : 'running',
    ...machine,
    endpoint: `127.0.0.1:${node.apiPort}`,
    console: consoleFile(placeOf(folder, node)),
  }
}

/** Pure. */
export function rowsTable(rows: readonly NodeRow[]): string {
  return table(
    HEAD,
    rows.map((row) => [
      ...[row.cluster, row.node, row.role, row.state, row.pid === undefined ? '' : String(row.pid)],
      ...[row.acceleration ?? '', row.endpoint, row.console],
    ]),
  )
}
