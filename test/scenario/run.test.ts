import { spawn } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { providers, type Setting } from './needs.ts'
import { matches, parseTranscript, type Step } from './transcript.ts'

const here = import.meta.dirname
const repository = join(here, '../..')
const node = join(repository, 'node_modules/.bin/node')
const settings = new Map<string, Promise<Setting>>()

afterAll(async () => {
  for (const setting of settings.values()) await (await setting)[Symbol.asyncDispose]()
})

for (const kind of ['positive', 'negative']) {
  const names = (await readdir(join(here, kind))).filter((name) => name.endsWith('.txt')).sort()
  describe(`${kind} transcripts`, () => {
    for (const name of names) {
      it(name, { timeout: 120_000 }, async () => {
        const transcript = parseTranscript(await readFile(join(here, kind, name), 'utf8'))
        const env: Record<string, string> = {}
        for (const need of transcript.needs) Object.assign(env, (await settingOf(need)).env)
        await play(transcript.steps, env)
      })
    }
  })
}

function settingOf(need: string): Promise<Setting> {
  const provider = providers[need]
  if (provider === undefined) throw new Error(`nothing provides ${JSON.stringify(need)}`)
  const setting = settings.get(need) ?? provider()
  settings.set(need, setting)
  return setting
}

async function play(steps: readonly Step[], extra: Readonly<Record<string, string>>): Promise<void> {
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
