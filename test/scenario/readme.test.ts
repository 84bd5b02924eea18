import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { providers, type Setting } from './needs.ts'
import { play } from './play.ts'
import { matches, parseTranscript, type Step } from './transcript.ts'

const repository = join(import.meta.dirname, '../..')
const run = promisify(execFile)

/** What differs from run to run: sizes, seconds, the first digits of a digest or a boot id, and ports when the usual ones are taken. */
const VARIABLE = /\d+\.\d(?= KiB| s$)|\b[0-9a-f]{4,16}(?=…)|(?<=127\.0\.0\.\d:)\d+/gm

async function session(): Promise<readonly Step[]> {
  const readme = await readFile(join(repository, 'README.md'), 'utf8')
  const block = /^```console\n([\s\S]*?)^```$/m.exec(readme)?.[1]
  if (block === undefined) throw new Error('the README shows no session')
  return parseTranscript(block.replace(VARIABLE, '…')).steps
}

/** A page for readers shows no exit codes; a step that shows an error has the one for a denied call. */
function withExit(step: Step): Step {
  return step.expected[0]?.startsWith('error: PERMISSION_DENIED') === true ? { ...step, exit: 4 } : step
}

describe('the session in the README', () => {
  let setting: Setting | undefined

  afterAll(async () => {
    await setting?.[Symbol.asyncDispose]()
  })

  it('begins with what npm start prints', { timeout: 120_000 }, async () => {
    const [start] = await session()
    expect(start?.command).toBe('npm ci && npm start')
    await run(process.execPath, [join(repository, 'images/bundle.ts')])
    const { stdout } = await run(process.execPath, [join(repository, '.build/start.mjs'), '--once'])
    const printed = stdout.split('\n').slice(0, start?.expected.length)
    if (!matches(start?.expected ?? [], printed)) expect(printed).toEqual(start?.expected)
    const boots = [...stdout.matchAll(/boot id (?:before|after) the reboot +([0-9a-f-]{36})/g)].map((match) => match[1])
    expect(new Set(boots).size).toBe(2)
    expect(stdout).toContain('PERMISSION_DENIED')
    expect(stdout).toContain('hint:')
  })

  it('goes on with commands that print what it shows', { timeout: 120_000 }, async () => {
    setting = await providers['demo cluster']?.()
    const [, ...steps] = await session()
    await play(steps.map(withExit), setting?.env ?? {})
  })
})
