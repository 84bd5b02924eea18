/**
 * Looks at the finished root and refuses what must not be in one: more programs than the budget, a shell, an unknown interpreter, a package manager, a setuid file, a
 * secret, a unit that listens where it should not, a daemon that is not confined. Writes what it saw.
 */
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { isInterpreter, isPackageManager } from '#kit/program-name'
import { ImageFault } from '../fault.ts'
import type { StepContext } from '../run.ts'
import { isLibrary, Tree } from '../tree.ts'
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
}

const reportSchema = z.object({
  files: z.array(z.object({ path: z.string(), bytes: z.number(), sha256: z.string(), mode: z.number() })),
  executables: z.array(z.string()),
  scripts: z.array(z.string()),
  setuid: z.array(z.string()),
  interpreters: z.array(z.string()),
  ports: z.array(z.number()),
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
  const executables: string[] = []
  const scripts: string[] = []
  for (const { path, stats } of files.filter(({ stats }) => (stats.mode & 0o111) !== 0)) {
    if (isLibrary(path)) continue
    const start = readFileSync(tree.at(path)).subarray(0, 2).toString('latin1')
    if (start === '#!') scripts.push(path)
    else if (tree.elf(path) !== undefined) executables.push(path)
    void stats
  }
  const programs = entries.filter(
    ({ path, stats }) => !stats.isDirectory() && /^usr\/s?bin\/[^/]+$/.test(path),
  )
  return {
    files: files.map(({ path, stats }) => ({
      path,
      bytes: stats.size,
      sha256: createHash('sha256')
        .update(readFileSync(tree.at(path)))
        .digest('hex'),
      mode: stats.mode & 0o7777,
    })),
    executables,
    scripts,
    setuid: files.filter(({ stats }) => (stats.mode & 0o6000) !== 0).map(({ path }) => path),
    interpreters: programs
      .map(({ path }) => path)
      .filter((path) => isInterpreter(path) || isPackageManager(path)),
    ports: listening(tree),
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
  ]
}

function when(broken: boolean, sentence: string): readonly string[] {
  return broken ? [sentence] : []
}

/** Ports that units name: of sockets, and of our daemons' `--listen`. */
function listening(tree: Tree): readonly number[] {
  const folder = 'usr/lib/systemd/system'
  const found = tree
    .list(folder)
    .filter((name) => /\.(socket|service)$/.test(name) && !tree.isLink(`${folder}/${name}`))
    .flatMap((name) => {
      const text = tree.read(`${folder}/${name}`)
      const sockets = [...text.matchAll(/^Listen(?:Stream|Datagram)=(?:\S*:)?(\d+)$/gm)]
      const flags = [...text.matchAll(/--listen \S*:(\d+)/g)]
      return [...sockets, ...flags].map((match) => Number(match[1]))
    })
  return [...new Set(found)].sort((a, b) => a - b)
}
