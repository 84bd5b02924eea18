/** Runs the steps of a transcript, each in a shell, with stelectl on the path and a home of its own. */
import { spawn } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { matches, type Step } from './transcript.ts'

const repository = join(import.meta.dirname, '../..')
const node = join(repository, 'node_modules/.bin/node')

/** Fails the running test at the first step that prints or exits otherwise than written. */
export async function play(steps: readonly Step[], extra: Readonly<Record<string, string>>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'stele-scenario-'))
  try {
    const home = join(directory, 'home')
    const bin = join(directory, 'bin')
    const work = join(directory, 'work')
    for (const folder of [home, bin, work]) await mkdir(folder)
    await writeFile(join(bin, 'stelectl'), `#!/bin/sh\nexec ${node} ${repository}/agent/cli/main.ts "$@"\n`)
    await writeFile(join(bin, 'npx'), '#!/bin/sh\nexec "$@"\n')
    await chmod(join(bin, 'stelectl'), 0o755)
    await chmod(join(bin, 'npx'), 0o755)
    const env = { PATH: `${bin}:${process.env['PATH'] ?? ''}`, HOME: home, REPO: repository, TERM: 'dumb', ...extra }
    for (const step of steps) {
      const { printed, exit } = await runCommand(step.command, { cwd: work, env })
      const where = `line ${step.line}: $ ${step.command}`
      const isSame = exit === step.exit && matches(step.expected, printed)
      if (!isSame) expect({ where, exit, printed }).toEqual({ where, exit: step.exit, printed: step.expected })
    }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

type Played = { readonly printed: readonly string[]; readonly exit: number }

function runCommand(command: string, options: { cwd: string; env: Record<string, string> }): Promise<Played> {
  return new Promise((resolve, reject) => {
    const child = spawn('bash', ['-c', `set -o pipefail; exec 2>&1 </dev/null\n${command}`], {
      ...options,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const chunks: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
    child.once('error', reject)
    child.once('close', (code) => {
      const text = Buffer.concat(chunks).toString('utf8').trimEnd()
      resolve({ printed: text === '' ? [] : text.split('\n'), exit: code ?? -1 })
    })
  })
}
