import { describe, expect, it } from 'vitest'
import { inWords, isGoingDown, mayEnter, type MachineState } from '../../../../agent/core/machine/state.ts'

const booting: MachineState = { kind: 'booting', step: undefined }
const running: MachineState = { kind: 'running' }
const quarantine: MachineState = { kind: 'quarantine', code: 'user_data', reasons: ['why'] }
const orderly: MachineState = { kind: 'rebooting', operationId: 'a', forced: false }
const forced: MachineState = { kind: 'rebooting', operationId: 'b', forced: true }
const stopping: MachineState = { kind: 'stopping', operationId: 'c', forced: false }

describe('mayEnter', () => {
  it.each([
    [booting, running, true],
    [booting, quarantine, true],
    [quarantine, running, true],
    [running, quarantine, false],
    [running, orderly, true],
    [quarantine, stopping, true],
    [orderly, forced, true],
    [forced, orderly, false],
    [orderly, running, false],
    [orderly, stopping, false],
    [stopping, orderly, false],
  ])('%j → %j: %s', (from, to, allowed) => {
    expect(mayEnter(from, to)).toBe(allowed)
  })
})

describe('words', () => {
  it('says the state as a person would', () => {
    expect([inWords(quarantine), inWords(running), isGoingDown(orderly), isGoingDown(running)]).toEqual([
      'in quarantine',
      'running',
      true,
      false,
    ])
  })
})
