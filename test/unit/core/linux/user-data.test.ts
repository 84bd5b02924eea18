import { describe, expect, it } from 'vitest'
import type { SeedPort } from '../../../../agent/core/linux/seed-disk.ts'
import { userDataSources } from '../../../../agent/core/linux/user-data.ts'
import { systemClock } from '../../../../agent/kit/clock.ts'

const signal = new AbortController().signal
const seeds: SeedPort = { find: async () => [], withMounted: () => expect.unreachable() }
const common = { commandLine: '', serial: '', flags: [], seeds, clock: systemClock }

describe('userDataSources', () => {
  it('goes from what was said for this boot to what belongs to the machine', () => {
    const sources = userDataSources({
      ...common,
      commandLine: 'quiet stele.userdata=http://me:secret@10.0.0.1/u?token=x stele.userdata=/seed',
      serial: 'ds=nocloud;s=http://10.0.0.2/seed',
      flags: ['/var/flag'],
    })
    expect(sources.map(({ kind, location }) => [kind, location])).toEqual([
      ['http', 'http://10.0.0.1/u'],
      ['file', '/seed'],
      ['http', 'http://10.0.0.2/seed/user-data'],
      ['nocloud', 'disk labelled cidata'],
      ['file', '/var/flag'],
    ])
  })

  it('always looks for a seed disk, and finds none on a machine without one', async () => {
    const sources = userDataSources(common)
    expect(sources).toHaveLength(1)
    expect(await sources[0]?.read({ signal })).toEqual({ kind: 'absent' })
  })

  it('refuses a source that is neither path nor URL, without telling what it was', async () => {
    const [source] = userDataSources({ ...common, commandLine: 'stele.userdata=ftp://me:secret@x/' })
    await expect(source?.read({ signal })).rejects.toMatchObject({ code: 'source_invalid' })
    expect(source?.location).not.toContain('secret')
  })
})
