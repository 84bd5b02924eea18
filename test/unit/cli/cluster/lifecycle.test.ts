/** The life of a cluster as a model: the steps are those that the real plan decides; what they leave behind is kept as plain data. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decideRaise, type Seen, type Step, type Wanted } from '../../../../agent/cli/cluster/plan.ts'
import { recordOf, wantedOf } from './record-of.ts'

const NOTHING: Seen = {
  ...{ record: undefined, secrets: 'none', hasImage: false, disks: [], running: [], context: 'none' },
}
const PARTS = ['secrets', 'image', 'nodes'] as const
type Part = (typeof PARTS)[number]

/** One command, ended by a kill before its step number `killedAt`. */
type Command =
  | { readonly kind: 'create' | 'start' | 'stop'; readonly killedAt: number }
  | { readonly kind: 'destroy'; readonly killedAt: number; readonly order: readonly Part[] }
  | { readonly kind: 'crash'; readonly node: string }
  | { readonly kind: 'forget-context' }

const spec = fc.record({
  controlPlanes: fc.integer({ min: 1, max: 3 }),
  workers: fc.integer({ min: 0, max: 3 }),
})
const killedAt = fc.oneof(fc.integer({ min: 0, max: 9 }), fc.constant(Number.POSITIVE_INFINITY))
const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({ kind: fc.constantFrom('create', 'start', 'stop'), killedAt }),
  fc.record({
    kind: fc.constant('destroy'),
    killedAt,
    order: fc.shuffledSubarray([...PARTS], { minLength: PARTS.length }),
  }),
  fc.record({ kind: fc.constant('crash'), node: fc.constantFrom('demo-cp-1', 'demo-worker-1') }),
  fc.record({ kind: fc.constant('forget-context') }),
)

describe('any commands in any order, each killed anywhere', () => {
  it('leave what create goes on with, or what it says to destroy; and then nothing', () => {
    fc.assert(
      fc.property(spec, fc.array(command, { maxLength: 12 }), (sizes, commands) => {
        const wanted = wantedOf(sizes)
        const left = commands.reduce((seen, one) => after(seen, one, wanted), NOTHING)
        const steps = decideRaise(wanted, left)
        if (steps.ok) {
          const raised = steps.value.reduce((seen, step) => act(seen, step, wanted), left)
          expect(raised.running).toHaveLength(sizes.controlPlanes + sizes.workers)
          expect(decideRaise(wanted, raised)).toEqual({ ok: true, value: [] })
        } else {
          expect(steps.error).toMatchObject({ code: 'cluster_damaged' })
          expect(steps.error.hint).toContain('destroy')
        }
        const gone = after(left, { kind: 'destroy', killedAt: Infinity, order: PARTS }, wanted)
        expect(gone).toEqual(NOTHING)
      }),
    )
  })
})

function after(seen: Seen, command: Command, wanted: Wanted): Seen {
  switch (command.kind) {
    case 'create':
    case 'start': {
      const steps = decideRaise(command.kind === 'create' ? wanted : undefined, seen)
      const done = steps.ok ? steps.value.slice(0, command.killedAt) : []
      return done.reduce((before, step) => act(before, step, wanted), seen)
    }
    case 'stop':
      return { ...seen, running: seen.running.slice(Math.min(command.killedAt, seen.running.length)) }
    case 'crash':
      return { ...seen, running: seen.running.filter((node) => node !== command.node) }
    case 'forget-context':
      return { ...seen, context: 'none' }
    case 'destroy':
      return destroyed(seen, command)
  }
}

function act(seen: Seen, step: Step, wanted: Wanted): Seen {
  switch (step.kind) {
    case 'record':
      return { ...seen, record: recordOf(wanted) }
    case 'secrets':
      // Machines know the secrets that their disks were made with.
      expect(seen.disks).toEqual([])
      return { ...seen, secrets: 'there' }
    case 'image':
      return { ...seen, hasImage: true }
    case 'power-on':
      // What a machine is told comes from files; without a record nobody would find it again.
      expect(seen).toMatchObject({ record: { name: 'demo' }, secrets: 'there', hasImage: true })
      expect(seen.running).not.toContain(step.node)
      return {
        ...seen,
        disks: [...new Set([...seen.disks, step.node])],
        running: [...seen.running, step.node],
      }
    case 'context':
      expect(seen.secrets).toBe('there')
      return { ...seen, context: 'own' }
  }
}

/** As `cluster destroy` does it: machines, context, what the folder holds in the order that the folder tells it, the record. */
function destroyed(seen: Seen, { killedAt, order }: Extract<Command, { kind: 'destroy' }>): Seen {
  const removals: readonly ((before: Seen) => Seen)[] = [
    ...seen.running.map((node) => (before: Seen) => ({
      ...before,
      running: before.running.filter((one) => one !== node),
    })),
    (before) => ({ ...before, context: 'none' }),
    ...order.map((part) => (before: Seen) => ({ ...before, ...WITHOUT[part] })),
    (before) => ({ ...before, record: undefined }),
  ]
  return removals.slice(0, killedAt).reduce((before, remove) => remove(before), seen)
}

const WITHOUT: Readonly<Record<Part, Partial<Seen>>> = {
  secrets: { secrets: 'none' },
  image: { hasImage: false },
  nodes: { disks: [] },
}
