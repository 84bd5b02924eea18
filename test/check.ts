/**
 * The whole gate in one command: runs every check, two at a time, and says for each how long it took. Exits 1 when one failed, with the output
 * of those that did.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'

type Check = { readonly name: string; readonly command: readonly string[]; readonly cwd?: string }
type Outcome = {
  readonly check: Check
  readonly ok: boolean
  readonly seconds: number
  readonly output: string
}

const root = join(import.meta.dirname, '..')
const bin = (name: string) => join(root, 'node_modules/.bin', name)
const node = process.execPath

const checks: readonly Check[] = [
  { name: 'lint', command: [bin('eslint'), '--config', '.eslint.config.js', '--max-warnings', '0', '.'] },
  { name: 'types', command: [node, 'node_modules/ts7/bin/tsc', '-p', 'tsconfig.json', '--noEmit'] },
  {
    name: 'format',
    command: [bin('prettier'), '--config', '.prettierrc.json', '--check', '--log-level', 'warn', '.'],
  },
  {
    name: 'imports',
    command: [
      bin('depcruise'),
      '--config',
      '.dependency-cruiser.cjs',
      'agent',
      'pki',
      'bootstrap-provider',
      'images',
      'test',
    ],
  },
  { name: 'proto lint', command: [bin('buf'), 'lint'], cwd: 'agent/api' },
  {
    name: 'proto breaking',
    command: [bin('buf'), 'breaking', '--against', 'baseline.binpb'],
    cwd: 'agent/api',
  },
  { name: 'proto docs', command: [node, 'agent/api/check-docs.ts'] },
  { name: 'generated code', command: [node, 'agent/api/generate.ts', '--check'] },
]

function run(check: Check): Promise<Outcome> {
  const started = performance.now()
  const [program = '', ...args] = check.command
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: join(root, check.cwd ?? '.'),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const chunks: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk))
    const finish = (ok: boolean, extra = '') => {
      const seconds = (performance.now() - started) / 1000
      resolve({ check, ok, seconds, output: Buffer.concat(chunks).toString('utf8') + extra })
    }
    child.once('error', (error) => finish(false, error.message))
    child.once('close', (code) => finish(code === 0))
  })
}

async function worker(queue: Check[], report: (outcome: Outcome) => void): Promise<void> {
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) report(await run(next))
}

const failures: Outcome[] = []
const started = performance.now()
const queue = [...checks]
const report = (outcome: Outcome) => {
  process.stdout.write(
    `${outcome.ok ? 'ok    ' : 'FAILED'}  ${outcome.check.name.padEnd(16)} ${outcome.seconds.toFixed(1)} s\n`,
  )
  if (!outcome.ok) failures.push(outcome)
}
await Promise.all([worker(queue, report), worker(queue, report)])
for (const failure of failures) process.stdout.write(`\n${failure.check.name}:\n${failure.output}\n`)
process.stdout.write(
  `${checks.length - failures.length} of ${checks.length} checks passed in ${((performance.now() - started) / 1000).toFixed(0)} s\n`,
)
process.exitCode = failures.length === 0 ? 0 : 1
