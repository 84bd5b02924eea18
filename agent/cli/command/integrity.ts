/** `stelectl integrity`: whether nodes still are what their image says, by their own measurement. */
import type { Command } from 'commander'
import type { GetIntegrityResponse } from '#api'
import { worstExit, type ExitCode } from '../failure.ts'
import { answers, fanOut, report } from '../fan-out.ts'
import { readInput } from '../file.ts'
import { judgeIntegrity, type ImageFacts, type PropertyVerdict, type Verdict } from '../integrity.ts'
import { readCall, withNodes } from '../nodes.ts'
import { verb, type Host, type Run } from '../run.ts'
import { table } from '../text.ts'
import { examples } from './help.ts'

const HEAD = ['NODE', 'PROPERTY', 'VERDICT', 'DETAIL']
/** The node looks at every file of its root, and systemd at every unit. */
const TIMEOUT_MS = 60_000
/** What cannot be told is no success: a script that asks wants to know. */
const EXITS: Readonly<Record<Verdict, ExitCode>> = { ok: 0, unknown: 1, violated: 8 }

type Options = { readonly manifest?: string }
type Judged = { readonly answer: GetIntegrityResponse; readonly verdicts: readonly PropertyVerdict[] }

export function addIntegrity(program: Command, host: Host): void {
  const integrity = program
    .command('integrity')
    .description('measure whether nodes still are what their image says')
    .option(
      '--manifest <file>',
      'the manifest.json of the image: the root hash and the programs must be the same',
    )
    .action(verb(host, showIntegrity))
  examples(integrity, [
    'integrity',
    'integrity --nodes cp-1 --manifest .build/image/manifest.json',
    'integrity -o json',
  ])
  integrity.addHelpText(
    'after',
    '\nExits 0 when every property is ok, 1 when one cannot be told, and 8 when one is violated.',
  )
}

async function showIntegrity(run: Run<Options>): Promise<ExitCode> {
  const image = await manifestOf(run)
  const patient = { ...run, shared: { ...run.shared, timeoutMs: run.shared.timeoutMs ?? TIMEOUT_MS } }
  return withNodes(patient, async ({ nodes }) => {
    const outcomes = await fanOut(nodes, async (node): Promise<Judged> => {
      const answer = await readCall(patient, (call) => node.client.integrity.getIntegrity({}, call))
      return { answer, verdicts: judgeIntegrity(answer, image) }
    })
    const exit = report(run.output, outcomes, {
      data: ({ answer, verdicts }) => ({ verdicts, measured: answer }),
      text: (answered) =>
        table(
          HEAD,
          answered.flatMap(({ node, value }) =>
            value.verdicts.map(({ property, verdict, detail }) => [node, property, verdict, detail]),
          ),
        ),
    })
    return worstExit([exit, ...answers(outcomes).map(({ value }) => verdictExit(value.verdicts))])
  })
}

/** The exit code of the worst verdict. Pure. */
export function verdictExit(verdicts: readonly PropertyVerdict[]): ExitCode {
  return worstExit(verdicts.map(({ verdict }) => EXITS[verdict]))
}

async function manifestOf(run: Run<Options>): Promise<ImageFacts | undefined> {
  const { manifest } = run.options
  if (manifest === undefined) return undefined
  const { bytes, label } = await readInput(manifest, { signal: run.signal })
  const { parseManifest } = await import('../machine/image.ts')
  return parseManifest(bytes.toString('utf8'), label)
}
