import { describe, expect, it } from 'vitest'
import { LinuxFault } from '../../../../agent/core/linux/fault.ts'
import { journalArguments, journalLogs } from '../../../../agent/core/linux/journal.ts'
import type { Programs } from '../../../../agent/core/linux/run.ts'
import { systemClock } from '../../../../agent/kit/clock.ts'

const bootId = '11111111-2222-3333-4444-555555555555'
const query = { follow: false, tailLines: 0, previousBoot: false, signal: new AbortController().signal }

function logs(stream: Programs['stream'], hasUnit = () => false) {
  const programs: Programs = { find: () => '/x', run: () => expect.unreachable(), stream }
  return journalLogs({ programs, bootId, audit: '/nowhere', clock: systemClock, hasUnit })
}

async function textOf(chunks: AsyncIterable<{ readonly lines: Buffer }>): Promise<string> {
  let text = ''
  for await (const { lines } of chunks) text += lines.toString()
  return text
}

describe('journalArguments', () => {
  it('names the current boot by its id, and the one before by its place', () => {
    expect(journalArguments(query, bootId)).toContain('--boot=11111111222233334444555555555555')
    expect(journalArguments({ ...query, previousBoot: true }, bootId)).toEqual(
      expect.arrayContaining(['--boot=-1', '--directory=/var/log/journal']),
    )
  })

  it('asks for all lines or for the last ones, and follows only the current boot', () => {
    expect(journalArguments(query, bootId)).toContain('--lines=all')
    expect(journalArguments({ ...query, tailLines: 5, follow: true }, bootId)).toEqual(
      expect.arrayContaining(['--lines=5', '--follow']),
    )
    expect(journalArguments({ ...query, previousBoot: true, follow: true }, bootId)).not.toContain('--follow')
  })
})

describe('journalLogs', () => {
  it('makes whole lines of what journalctl prints, for the unit of the service alone', async () => {
    let asked: readonly string[] = []
    const port = logs(async function* (_name, args) {
      asked = args
      yield Buffer.from('one\ntw')
      yield Buffer.from('o\nthree')
    })
    expect(await textOf(port.read('gateway', query))).toBe('one\ntwo\nthree\n')
    expect(asked).toContain('--unit=stele-gateway.service')
  })

  it('lists the services of Kubernetes only where they are', () => {
    const stream = () => expect.unreachable()
    expect(logs(stream).names()).toEqual(['core', 'gateway', 'trust', 'audit'])
    expect(logs(stream, () => true).names()).toEqual([
      'containerd',
      'core',
      'gateway',
      'kubelet',
      'trust',
      'audit',
    ])
  })

  it('has no lines of a previous boot that is not kept, but tells any other failure', async () => {
    const port = logs(async function* () {
      yield* []
      throw new LinuxFault('program_failed', 'journalctl ended with an error')
    })
    expect(await textOf(port.read('core', { ...query, previousBoot: true }))).toBe('')
    await expect(textOf(port.read('core', query))).rejects.toMatchObject({ code: 'program_failed' })
  })

  it('refuses the seventeenth reader, and serves again when one has left', async () => {
    let open: () => void = () => undefined
    const gate = new Promise<void>((resolve) => (open = resolve))
    const port = logs(async function* () {
      yield Buffer.from('line\n')
      await gate
    })
    const readers = Array.from({ length: 16 }, () => port.read('core', query)[Symbol.asyncIterator]())
    for (const reader of readers) await reader.next()
    const late = () => port.read('core', query)[Symbol.asyncIterator]().next()
    await expect(late()).rejects.toMatchObject({ code: 'log_readers_exhausted' })
    await readers[0]?.return?.()
    expect((await late()).done).toBe(false)
    open()
  })
})
