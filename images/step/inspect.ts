/**
 * Looks at the finished root and refuses what must not be in one: more programs than the budget, a shell, an unknown interpreter, a package manager, a setuid file, a
 * secret, a unit that listens where it should not, a daemon that is not confined. Writes what it saw.
 */
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { ImageFault } from '../fault.ts'
import type { StepContext } from '../run.ts'
import { Tree } from '../tree.ts'
import { findListening } from './listen.ts'
import { findInterpreters, programKind } from './program.ts'
import { findSecrets } from './secret.ts'

const parameters = z.object({
  processes: z.array(z.string()),
  budgets: z.object({
    executables: z.number(),
    interpreters: z.array(z.string()),
    setuidFiles: z.number(),
    ports: z.array(z.number()),
  }),
})
export type RootBudgets = z.infer<typeof parameters>['budgets']

export type RootFile = {
  readonly path: string
  readonly bytes: number
  readonly sha256: string
  readonly mode: number
}

export type RootReport = {
  readonly files: readonly RootFile[]
  readonly executables: readonly string[]
  readonly scripts: readonly string[]
  readonly setuid: readonly string[]
  readonly interpreters: readonly string[]
  readonly ports: readonly number[]
  /** Addresses of units that are neither local nor a port: no budget allows one. */
  readonly listeners: readonly string[]
}

const reportSchema = z.object({
  files: z.array(z.object({ path: z.string(), bytes: z.number(), sha256: z.string(), mode: z.number() })),
  executables: z.array(z.string()),
  scripts: z.array(z.string()),
  setuid: z.array(z.string()),
  interpreters: z.array(z.string()),
  ports: z.array(z.number()),
  listeners: z.array(z.string()),
})

/** Greatest exposure that `systemd-analyze security` may give to a daemon that strangers can reach, times ten. */
const EXPOSURE_LIMIT = 20
const CONFINED = ['gateway', 'trust'] as const

/** Writes `report.json`. Throws `budget_exceeded` or `secret_found`. */
export async function inspectRoot(context: StepContext): Promise<void> {
  const { budgets, processes } = parameters.parse(context.step.parameters)
  const tree = new Tree(join(context.input('root'), 'tree'))
  const report = look(tree)
  const broken = overBudget(report, budgets)
  if (broken.length > 0) throw new ImageFault('budget_exceeded', broken.join('; '))
  const secrets = findSecrets(tree)
  if (secrets.length > 0) {
    throw new ImageFault(
      'secret_found',
      `the root holds ${secrets.map((each) => `${each.kind} in ${each.path}`).join(', ')}`,
    )
  }
  for (const name of CONFINED.filter((each) => processes.includes(each))) {
    await context.tree(
      'systemd-analyze',
      [
        ...[
          'security',
          '--no-pager',
          '--offline=yes',
          `--root=${tree.folder}`,
          `--threshold=${EXPOSURE_LIMIT}`,
        ],
        `stele-${name}.service`,
      ],
      { signal: context.signal },
    )
  }
  writeFileSync(join(context.out, 'report.json'), JSON.stringify(report))
}

/** Parses the `report.json` of this step. */
export function parseReport(text: string): RootReport {
  return reportSchema.parse(JSON.parse(text))
}

/** What a tree holds, in byte order of the paths. */
export function look(tree: Tree): RootReport {
  const entries = tree.entries()
  const files = entries.filter(({ stats }) => stats.isFile())
  const kinds = files.map((entry) => ({ path: entry.path, kind: programKind(tree, entry) }))
  const ofKind = (wanted: 'script' | 'executable') =>
    kinds.filter(({ kind }) => kind === wanted).map(({ path }) => path)
  const { ports, others } = findListening(tree)
  return {
    files: files.map(({ path, stats }) => ({
      path,
      bytes: stats.size,
      sha256: createHash('sha256')
        .update(readFileSync(tree.at(path)))
        .digest('hex'),
      mode: stats.mode & 0o7777,
    })),
    executables: ofKind('executable'),
    scripts: ofKind('script'),
    setuid: files.filter(({ stats }) => (stats.mode & 0o6000) !== 0).map(({ path }) => path),
    interpreters: findInterpreters(tree, entries),
    ports,
    listeners: others,
  }
}

/** Each budget that the report breaks, as a sentence. */
export function overBudget(report: RootReport, budgets: RootBudgets): readonly string[] {
  const strangers = report.interpreters.filter((path) => !budgets.interpreters.includes(path))
  const ports = report.ports.filter((port) => !budgets.ports.includes(port))
  return [
    ...when(
      report.executables.length > budgets.executables,
      `${report.executables.length} executables, budget ${budgets.executables}`,
    ),
    ...when(report.setuid.length > budgets.setuidFiles, `setuid files: ${report.setuid.join(', ')}`),
    ...when(report.scripts.length > 0, `executable scripts: ${report.scripts.join(', ')}`),
    ...when(strangers.length > 0, `shells, interpreters or package managers: ${strangers.join(', ')}`),
    ...when(ports.length > 0, `units that listen on ${ports.join(', ')}`),
    ...when(report.listeners.length > 0, `units that listen elsewhere: ${report.listeners.join('; ')}`),
  ]
}

function when(broken: boolean, sentence: string): readonly string[] {
  return broken ? [sentence] : []
}
