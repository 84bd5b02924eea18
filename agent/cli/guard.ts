/**
 * A change that hurts is never sent to nodes that nobody named. With several nodes and neither `--nodes` nor `--yes` the nodes are first asked
 * by a dry run, so that who may not do it learns that, and then the person is asked; without a person it is refused.
 */
import { fanOut, reportFailures } from './fan-out.ts'
import type { ExitCode } from './failure.ts'
import { CliFault } from './fault.ts'
import type { Node, Selection } from './nodes.ts'
import type { Run } from './run.ts'

/** Returns undefined when the change may go ahead, else the exit code; refusals of the dry run are printed. Throws CliFault `nodes_unnamed`, `not_confirmed`. */
export async function guard(
  run: Run<{ readonly yes?: boolean }>,
  selection: Selection,
  ask: { readonly doing: string; readonly dryRun: (node: Node) => Promise<unknown> },
): Promise<ExitCode | undefined> {
  if (selection.isDeliberate || run.options.yes === true) return undefined
  const outcomes = await fanOut(selection.nodes, ask.dryRun)
  if (outcomes.some((outcome) => outcome.kind === 'failure')) return reportFailures(run.output, outcomes)
  const names = selection.nodes.map((node) => node.name).join(', ')
  if (run.confirm === undefined) {
    throw new CliFault('nodes_unnamed', `this would ${ask.doing} ${selection.nodes.length} nodes: ${names}`, {
      hint: 'name the nodes with --nodes, or say --yes for all of them',
    })
  }
  if (await run.confirm(`${ask.doing} ${names}? [y/N] `)) return undefined
  throw new CliFault('not_confirmed', 'nothing was done', {
    hint: 'answer y, or name the nodes with --nodes',
  })
}
