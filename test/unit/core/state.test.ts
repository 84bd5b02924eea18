/** What core finds on STATE when files are damaged or gone: never a new node where there was one. */
import { describe, expect, it } from 'vitest'
import { createLog } from '#kit/log'
import { openState, type State } from '../../../agent/core/state.ts'
import { commit, inForce, type Draft } from '../../../agent/core/store/committed.ts'
import { MemoryFileSystem } from './store/memory-file-system.ts'

const CURRENT = '/state/config/config.json'
const PREVIOUS = `${CURRENT}.previous`
const clock = { now: () => new Date(0), monotonic: () => 0, sleep: async () => undefined }
const log = createLog('test', { write: () => undefined })

describe('STATE', () => {
  it('of a new node has lost nothing', () => {
    expect(open(new MemoryFileSystem())).toMatchObject({
      loss: undefined,
      committed: { kind: 'none', counter: 0 },
    })
  })

  it('with one damaged copy goes on with the other, and says which one it was', () => {
    const files = configured()
    damage(files, CURRENT)
    const state = open(files)
    expect(inForce(state.committed)).toMatchObject({ revision: 1, document: 'a' })
    expect(state.loss).toBeUndefined()
    expect(state.damaged()).toEqual(['config/config.json'])
  })

  it('with both copies damaged is a loss, and no revision number is used again', () => {
    const files = configured()
    damage(files, CURRENT)
    damage(files, PREVIOUS)
    const state = open(files)
    expect(state).toMatchObject({ loss: 'configuration_lost', committed: { kind: 'none', counter: 3 } })
    expect(state.damaged()).toEqual(['config/config.json', 'config/config.json.previous'])
  })

  it('with no copy left is a loss where an event tells of a revision', () => {
    const files = configured()
    for (const path of [CURRENT, PREVIOUS]) files.files.delete(path)
    expect(open(files)).toMatchObject({ loss: 'configuration_lost', committed: { kind: 'none', counter: 3 } })
  })

  it('with both copies damaged and the events gone too is a loss all the same', () => {
    const files = configured()
    damage(files, CURRENT)
    damage(files, PREVIOUS)
    for (const path of [...files.files.keys()].filter((one) => one.includes('/events/')))
      files.files.delete(path)
    expect(open(files).loss).toBe('configuration_lost')
  })

  it('stays lost until an administrator applies a configuration, under a number of its own', () => {
    const files = configured()
    damage(files, CURRENT)
    damage(files, PREVIOUS)
    const once = open(files)
    expect(open(files).loss).toBe('configuration_lost')
    once.configuration.write(commit(once.committed, draft('c')))
    const after = open(files)
    expect(after.loss).toBeUndefined()
    expect(inForce(after.committed)).toMatchObject({ revision: 4, document: 'c' })
  })
})

/** STATE of a node with two revisions, each with its event. */
function configured(): MemoryFileSystem {
  const files = new MemoryFileSystem()
  const state = open(files)
  let { committed } = state
  for (const document of ['a', 'b']) {
    committed = commit(committed, draft(document))
    state.configuration.write(committed)
    const details = { revision: String(committed.counter) }
    state.events.emit({ code: 'config.applied', message: 'A configuration is in force.', details })
  }
  return files
}

function open(files: MemoryFileSystem): State {
  const boot = { bootId: 'boot', bootedAt: new Date(0) }
  return openState({ directory: '/state', files, clock, log, boot })
}

function draft(document: string): Draft {
  return { document, digest: `sha256:${document}`, appliedAt: new Date(0).toISOString(), appliedBy: 'ada' }
}

/** One byte of the value is another one, as a bad sector or a bad cable leaves it. */
function damage(files: MemoryFileSystem, path: string): void {
  const text = String(files.read(path))
  files.files.set(path, { data: text.replace('"appliedBy":"ada"', '"appliedBy":"adb"'), durable: true })
}
