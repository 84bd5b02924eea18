import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, it } from 'vitest'
import { providers, type Setting } from './needs.ts'
import { play } from './play.ts'
import { parseTranscript } from './transcript.ts'

const here = import.meta.dirname
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

