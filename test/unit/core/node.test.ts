import { describe, expect, it } from 'vitest'
import { EventLog } from '../../../agent/core/event-log.ts'
import { Node } from '../../../agent/core/node.ts'
import type { Ports } from '../../../agent/core/ports.ts'
import { committedSchema, nothingCommitted } from '../../../agent/core/store/committed.ts'
import { JsonFile } from '../../../agent/core/store/json-file.ts'
import { statusOf } from '../../../agent/core/status.ts'
import { MemoryFileSystem } from './store/memory-file-system.ts'

const clock = { now: () => new Date(0), monotonic: () => 0, sleep: async () => undefined }
const log = { info: () => undefined, warn: () => undefined, error: () => undefined, child: () => log }
function make() {
  const files = new MemoryFileSystem()
  return new Node({
    machine: { name: 'n-1', addresses: ['127.0.0.3'] },
    boot: { bootId: 'boot', bootedAt: new Date(0) },
    // Nothing here asks the host.
    ports: {} as Ports,
    clock,
    log,
    events: new EventLog({ files, directory: '/state/events', clock, bootId: () => 'boot' }),
    configuration: new JsonFile(files, '/state/config.json', committedSchema),
    committed: nothingCommitted,
  })
}

describe('Node', () => {
  it('does not wake anyone for a step that goes on, or a waiting machine would wake itself for ever', () => {
    const node = make()
    node.setStep('obtain-identity')
    const seen = node.change.version
    node.setStep('obtain-identity')
    expect(node.change.version).toBe(seen)
    node.setStep(undefined)
    node.setStep(undefined)
    expect(node.change.version).toBe(seen + 1)
  })

  it('makes an event of each change of its state, and none of a step', () => {
    const node = make()
    node.setStep('apply-host')
    expect(node.events.lastSequence).toBe(0)
    expect(node.enter({ kind: 'quarantine', code: 'user_data', reasons: ['why'] }, 'op')).toBe(true)
    expect(node.events.lastSequence).toBe(1)
    expect(node.enter({ kind: 'booting', step: undefined })).toBe(true)
  })

  it('lets nobody in before it knows an authority', () => {
    expect(make().authorities).toEqual([])
  })

  it('always has a status (BR-066)', () => {
    const node = make()
    node.enter({ kind: 'quarantine', code: 'user_data', reasons: ['there is no source of user data'] })
    expect(statusOf(node, undefined)).toMatchObject({
      node: 'n-1',
      configRevision: 0n,
      findings: [{ code: 'user_data' }, { code: 'services_unknown' }],
    })
  })
})
