import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  decideRaise,
  differences,
  planNodes,
  type Seen,
  type Step,
  type Wanted,
} from '../../../../agent/cli/cluster/plan.ts'
import type { ClusterRecord, ClusterSpec } from '../../../../agent/cli/cluster/record.ts'

const spec: ClusterSpec = {
  controlPlanes: 1,
  workers: 2,
  memoryMiB: 2048,
  diskGiB: 4,
  boot: 'firmware',
  image: '/images/one',
}
const wanted: Wanted = { name: 'demo', spec, rootHash: 'aa' }
const record: ClusterRecord = {
  kind: 'stele-cluster',
  version: 1,
  provisioner: 'qemu',
  name: 'demo',
  spec,
  rootHash: 'aa',
  wirePort: 4000,
  contextFile: '/contexts',
  nodes: planNodes('demo', spec).map((node, index) => ({ ...node, apiPort: 5000 + index })),
}
const names = record.nodes.map(({ name }) => name)
const nothing: Seen = {
  record: undefined,
  secrets: 'none',
  hasImage: false,
  disks: [],
  running: [],
  context: 'none',
}
const whole: Seen = {
  record,
  secrets: 'there',
  hasImage: true,
  disks: names,
  running: names,
  context: 'own',
}

/** What is there after a step, as the folder would be. */
function after(seen: Seen, step: Step): Seen {
  switch (step.kind) {
    case 'record':
      return { ...seen, record }
    case 'secrets':
      return { ...seen, secrets: 'there' }
    case 'image':
      return { ...seen, hasImage: true }
    case 'power-on':
      return {
        ...seen,
        disks: [...new Set([...seen.disks, step.node])],
        running: [...seen.running, step.node],
      }
    case 'context':
      return { ...seen, context: 'own' }
  }
}

/** Undefined as an argument would be the default. */
const asItWasMade = { wanted: undefined }
const stepsOf = (
  seen: Seen,
  { wanted: want }: { wanted: Wanted | undefined } = { wanted },
): readonly Step[] => {
  const decided = decideRaise(want, seen)
  if (!decided.ok) throw decided.error
  return decided.value
}
const refusalOf = (seen: Seen, { wanted: want }: { wanted: Wanted | undefined } = { wanted }) => {
  const decided = decideRaise(want, seen)
  return decided.ok ? undefined : decided.error
}

describe('the nodes of a cluster', () => {
  it('have each a name, a network, an address and a hardware address of their own, up to the most that a record takes', () => {
    const nodes = planNodes('demo', { ...spec, controlPlanes: 9, workers: 32 })
    for (const key of ['name', 'network', 'address', 'mac'] as const) {
      expect(new Set(nodes.map((node) => node[key])).size).toBe(41)
    }
    expect(nodes[0]).toMatchObject({ name: 'demo-cp-1', role: 'control-plane', network: 2 })
    expect(nodes.at(-1)).toMatchObject({ network: 42, address: '192.168.77.50', mac: '52:54:00:77:00:32' })
  })
})

describe('the steps of a cluster', () => {
  it('begin with the record and end with the context; machines come after what they are told', () => {
    expect(stepsOf(nothing).map(({ kind }) => kind)).toEqual([
      ...['record', 'secrets', 'image', 'power-on', 'power-on', 'power-on', 'context'],
    ])
  })

  it('are none when all of it is there', () => {
    expect(stepsOf(whole)).toEqual([])
    expect(stepsOf(whole, asItWasMade)).toEqual([])
  })

  it('turn on what is off, and give the context a new certificate', () => {
    expect(stepsOf({ ...whole, running: ['demo-cp-1', 'demo-worker-2'] }, asItWasMade)).toEqual([
      { kind: 'power-on', node: 'demo-worker-1' },
      { kind: 'context' },
    ])
  })

  it('lead from every moment of a kill to the whole cluster, by what is left alone', () => {
    const all = stepsOf(nothing).length
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            steps: fc.nat({ max: all }),
            // Machines that went off by themselves, and a context that somebody took away.
            off: fc.subarray([...names]),
            hasContext: fc.boolean(),
          }),
          { maxLength: 6 },
        ),
        (kills) => {
          let seen = nothing
          for (const { steps, off, hasContext } of kills) {
            seen = stepsOf(seen).slice(0, steps).reduce(after, seen)
            seen = { ...seen, running: seen.running.filter((name) => !off.includes(name)) }
            if (!hasContext) seen = { ...seen, context: 'none' }
          }
          seen = stepsOf(seen).reduce(after, seen)
          expect(stepsOf(seen)).toEqual([])
          expect(new Set(seen.running)).toEqual(new Set(names))
        },
      ),
    )
  })
})

describe('a cluster that cannot be raised', () => {
  it('is not there', () => {
    expect(refusalOf(nothing, asItWasMade)?.code).toBe('cluster_unknown')
  })

  it('lost the secrets that its disks were made with', () => {
    expect(refusalOf({ ...whole, secrets: 'none' })?.code).toBe('cluster_damaged')
    expect(refusalOf({ ...whole, secrets: 'damaged', disks: [], running: [] })?.code).toBe('cluster_damaged')
    expect(refusalOf({ ...whole, secrets: 'none', disks: [], running: [] })).toBeUndefined()
  })

  it('has machines on and no record that says how they are reached', () => {
    const refusal = refusalOf({ ...nothing, secrets: 'there', disks: names, running: ['demo-cp-1'] })
    expect(refusal).toMatchObject({ code: 'cluster_damaged' })
    expect(refusal?.hint).toContain('destroy')
  })

  it('has the name of a context that is another’s', () => {
    expect(refusalOf({ ...nothing, context: 'foreign' })?.code).toBe('context_exists')
  })

  it('was made otherwise: each option that differs is named with its value of then', () => {
    const other = {
      controlPlanes: 3,
      workers: 0,
      memoryMiB: 1,
      diskGiB: 1,
      boot: 'kernel',
      image: '/x',
    } as const
    expect(differences({ ...wanted, spec: other }, record)).toEqual([
      ...['--control-planes 1', '--workers 2', '--memory 2048', '--disk 4', '--boot firmware'],
      '--image /images/one',
    ])
    for (const key of Object.keys(other) as (keyof typeof other)[]) {
      const refusal = refusalOf(whole, { wanted: { ...wanted, spec: { ...spec, [key]: other[key] } } })
      expect(refusal).toMatchObject({ code: 'cluster_differs' })
    }
  })

  it('was begun with another image, while disks are still to be copied from it', () => {
    const newer = { wanted: { ...wanted, rootHash: 'bb' } }
    expect(refusalOf({ ...whole, disks: names.slice(1) }, newer)?.code).toBe('cluster_differs')
    expect(refusalOf({ ...whole, hasImage: false }, newer)?.code).toBe('cluster_differs')
    expect(refusalOf(whole, newer)).toBeUndefined()
  })
})
