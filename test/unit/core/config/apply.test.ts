import { describe, expect, it } from 'vitest'
import { parseNodeConfiguration } from '../../../../agent/config/index.ts'
import { planApply, type ApplyRequest } from '../../../../agent/core/config/apply.ts'
import { commit, nothingCommitted } from '../../../../agent/core/store/committed.ts'

const document = (more = '') => `apiVersion: stele.dev/v1alpha1\nkind: NodeConfig\nhostname: n-1\n${more}`
const draft = {
  document: document(),
  digest: 'sha256:a',
  appliedAt: '2030-01-01T00:00:00.000Z',
  appliedBy: 'user data',
}
const committed = commit(nothingCommitted, draft)
const parsed = parseNodeConfiguration(document(), { file: 'f' })
const current = parsed.ok ? parsed.value : undefined
const request = (more: Partial<ApplyRequest>): ApplyRequest => ({
  document: document('sysctls:\n  vm.swappiness: "10"\n'),
  expectedRevision: 1,
  mode: 'now',
  tryMs: 60_000,
  appliedBy: 'ada',
  digest: 'sha256:b',
  now: new Date('2030-01-02T00:00:00Z'),
  ...more,
})
const plan = (more: Partial<ApplyRequest> = {}) => planApply(committed, current, request(more))

describe('planApply', () => {
  it('tells what changes and what comes of it', () => {
    const result = plan()
    expect(result).toMatchObject({ revision: 2, tryUntil: undefined, next: { kind: 'live' } })
    expect(result.diff).toContain('+  vm.swappiness')
    expect(result.changes.map((change) => change.path).join()).toContain('sysctls')
  })

  it('says when a trial ends and when a staged version counts', () => {
    expect(plan({ mode: 'try' }).tryUntil?.toISOString()).toBe('2030-01-02T00:01:00.000Z')
    expect(plan({ mode: 'stage' })).toMatchObject({
      revision: 2,
      rebootRequired: true,
      next: { kind: 'pending' },
    })
  })

  it('refuses another revision than the one in force', () => {
    expect(() => plan({ expectedRevision: 0 })).toThrow(
      expect.objectContaining({ status: 'aborted', code: 'revision_conflict' }),
    )
  })

  it('refuses to rename a node', () => {
    const renamed = document().replace('n-1', 'n-2')
    expect(() => plan({ document: renamed })).toThrow(expect.objectContaining({ code: 'config_immutable' }))
  })

  it('lists every problem with its place, at most twenty, and no value', () => {
    const bad = document(Array.from({ length: 30 }, (_, i) => `field${i}: MARKER-${i}\n`).join(''))
    const refusal = expect.objectContaining({
      status: 'invalid_argument',
      code: 'config_invalid',
      message: expect.stringMatching(/and \d+ more$/) as string,
    }) as Error
    expect(() => plan({ document: bad })).toThrow(refusal)
    try {
      plan({ document: bad })
    } catch (error) {
      expect(String(error)).not.toContain('MARKER')
    }
  })
})
