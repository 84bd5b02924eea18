import { describe, expect, it } from 'vitest'
import { changesOf } from '../../../../agent/core/boot/watch-services.ts'
import type { ServiceInfo } from '../../../../agent/core/ports.ts'

const gateway: ServiceInfo = {
  name: 'gateway',
  state: 'running',
  pid: 7,
  since: new Date(0),
  restarts: 0,
  lastExit: '',
}
const changes = (after: ServiceInfo) =>
  changesOf(new Map([['gateway', gateway]]), [after]).map((event) => event.code)

describe('changesOf', () => {
  it('tells a change of state from a restart that nobody asked for', () => {
    expect(changes(gateway)).toEqual([])
    expect(changes({ ...gateway, state: 'stopped', pid: 0 })).toEqual(['service.state'])
    expect(changes({ ...gateway, pid: 8, restarts: 1, lastExit: 'signal SIGKILL' })).toEqual([
      'service.restarted',
    ])
  })
})
