/** `stelectl cluster show`. */
import { clusterFolder, clustersFolder, listClusters } from '../cluster/folder.ts'
import { CliFault } from '../fault.ts'
import { unknownCluster } from '../cluster/plan.ts'
import { readRecord } from '../cluster/record.ts'
import { rowsTable, viewNode, type NodeRow } from '../cluster/view.ts'
import { toFailure, worstExit, type ExitCode } from '../failure.ts'
import type { Run } from '../run.ts'

/** One cluster, or all; a damaged one hides none of the others. */
export async function showClusters(run: Run): Promise<ExitCode> {
  const clusters = clustersFolder(run.env)
  const [wanted] = run.operands
  const rows: NodeRow[] = []
  const failures: ReturnType<typeof toFailure>[] = []
  for (const name of wanted === undefined ? await listClusters(clusters) : [wanted]) {
    try {
      rows.push(...(await rowsOf(clusters, name)))
    } catch (error) {
      failures.push(toFailure(error))
    }
  }
  if (rows.length > 0 || failures.length === 0) {
    run.output.result(rows, () => (rows.length === 0 ? 'there is no cluster' : rowsTable(rows)))
  }
  for (const failure of failures) run.output.failure(failure)
  return worstExit(failures.map(({ exit }) => exit))
}

async function rowsOf(clusters: string, name: string): Promise<readonly NodeRow[]> {
  const folder = clusterFolder(clusters, name)
  const record = await readRecord(folder.path, name)
  if (record === undefined && !(await listClusters(clusters)).includes(name)) throw unknownCluster(name)
  if (record === undefined) {
    throw new CliFault('cluster_damaged', `the record of the cluster ${name} is gone`, {
      hint: `stelectl cluster destroy ${name} takes away what is left of it`,
    })
  }
  return record.nodes.map((node) => viewNode(folder, record, node))
}
