/**
 * Generates `gen/` from `proto/` with buf and ts-proto. With `--check` it generates into a temporary folder and fails when the committed
 * files differ, so that generated code never drifts from its source.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const here = import.meta.dirname
const buf = join(here, '../../node_modules/.bin/buf')

function generate(output: string): void {
  execFileSync(buf, ['generate', '--output', output], { cwd: here, stdio: 'inherit' })
}

function filesBelow(folder: string): Map<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8', withFileTypes: true })
  const files = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return new Map(files.map((file) => [file.slice(folder.length + 1), readFileSync(file, 'utf8')]))
}

function differences(committed: Map<string, string>, fresh: Map<string, string>): string[] {
  const names = new Set([...committed.keys(), ...fresh.keys()])
  return [...names].filter((name) => committed.get(name) !== fresh.get(name)).sort()
}

function check(): void {
  const scratch = mkdtempSync(join(here, '.generated-'))
  try {
    generate(scratch)
    const stale = differences(filesBelow(join(here, 'gen')), filesBelow(join(scratch, 'gen')))
    if (stale.length === 0) return
    process.stderr.write(
      `generated code is stale: ${stale.join(', ')}\nhint: npm run gen, then commit agent/api/gen\n`,
    )
    process.exitCode = 1
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

if (process.argv.includes('--check')) check()
else {
  rmSync(join(here, 'gen'), { recursive: true, force: true })
  generate(here)
}
