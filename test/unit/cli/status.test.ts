import { describe, expect, it } from 'vitest'
import type { NodeStatus } from '#api'
import { statusData, statusTable } from '../../../agent/cli/command/status.ts'

const status: NodeStatus = {
  node: 'cp-1',
  role: 1,
  state: 2,
  step: '',
  bootId: '1b2c0f5e-0000-4000-8000-000000000000',
  bootedAt: new Date('2026-01-01T00:00:00Z'),
  servicesRunning: 3,
  servicesTotal: 3,
  configRevision: 1n,
  configDigest: 'sha256:00',
  stagedRevision: 0n,
  tryUntil: undefined,
  addresses: ['127.0.0.1'],
  certificateNotAfter: undefined,
  certificateRenewAt: undefined,
  findings: [],
  machineId: '',
}
const answer = (node: string, changes: Partial<NodeStatus> = {}) =>
  ({ node, kind: 'answer', value: { ...status, ...changes } }) as const
const failed = (node: string, exit: 1 | 3 | 5) =>
  ({ node, kind: 'failure', failure: { code: 'c', status: 'S', message: 'm', exit } }) as const

describe('statusTable', () => {
  it('is the table of the README', () => {
    const worker = answer('worker-1', { role: 2, servicesRunning: 2, servicesTotal: 2 })
    expect(statusTable([answer('cp-1'), worker])).toBe(
      [
        'NODE      ROLE           STATE    SERVICES  CONFIG',
        'cp-1      control-plane  running  3/3       rev 1',
        'worker-1  worker         running  2/2       rev 1',
      ].join('\n'),
    )
  })

  it('keeps the row of a node that failed, and never calls a refused certificate unreachable (BR-055)', () => {
    const lines = statusTable([answer('cp-1'), failed('w1', 5), failed('w2', 3), failed('w3', 1)]).split('\n')
    expect(lines.slice(2).map((line) => line.split(/\s+/)[2])).toEqual(['unreachable', 'refused', 'failed'])
  })

  it('tells findings below, each with its remedy', () => {
    const finding = { code: 'config_drift', message: 'user data changed', remedy: 'apply it' }
    expect(
      statusTable([answer('cp-1', { findings: [finding] })])
        .split('\n')
        .slice(2),
    ).toEqual(['cp-1: user data changed [config_drift]', '  apply it'])
  })

  it('shows the step, a staged revision and a trial', () => {
    const [, row = ''] = statusTable([
      answer('cp-1', {
        state: 1,
        step: 'identity',
        stagedRevision: 3n,
        configRevision: 2n,
        tryUntil: new Date(),
      }),
    ]).split('\n')
    expect(row).toContain('booting (identity)')
    expect(row).toContain('rev 2, rev 3 staged, on trial')
  })
})

describe('statusData', () => {
  it('has words for enums and nothing for what is unset', () => {
    expect(statusData(status)).toMatchObject({
      role: 'control-plane',
      state: 'running',
      services: { running: 3, total: 3 },
      config: { revision: 1n, stagedRevision: undefined },
    })
  })
})
