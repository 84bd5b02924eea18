/**
 * What a cluster of machines is made of, and what is still to do of it. Pure.
 *
 * Invariant: steps are in an order in which each may be the last one before a kill: the record comes first, and what a machine is told comes
 * from files that were there before it.
 */
import { machinesOf } from '../manifest.ts'
import { err, ok, type Result } from '#kit/result'
import { CliFault } from '../fault.ts'
import type { ClusterNode, ClusterRecord, ClusterSpec } from './record.ts'

export type PlannedNode = Omit<ClusterNode, 'apiPort'>

export type Step =
  | { readonly kind: 'record' }
  | { readonly kind: 'secrets' }
  | { readonly kind: 'image' }
  | { readonly kind: 'power-on'; readonly node: string }
  | { readonly kind: 'context' }

/** What is there of a cluster. */
export type Seen = {
  readonly record: ClusterRecord | undefined
  readonly secrets: 'none' | 'there' | 'damaged'
  readonly hasImage: boolean
  /** Names of nodes whose disk is there, and of those that run; without a record, of all whose files are there. */
  readonly disks: readonly string[]
  readonly running: readonly string[]
  /** `foreign`: the file of contexts has one of this name that is not this cluster's. */
  readonly context: 'none' | 'own' | 'foreign'
}

export type Wanted = { readonly name: string; readonly spec: ClusterSpec; readonly rootHash: string }

/** Port of the trust service in the guest, and of its API. */
export const TRUST_PORT = 50_001
export const API_PORT = 50_000

/** The nodes in order. Node k has the network 10.0.(k+2).0/24 of its own, and 192.168.77.(10+k) on the wire: 41 nodes at the most fit a record. */
export function planNodes(name: string, spec: ClusterSpec): readonly PlannedNode[] {
  const machines = machinesOf({ cluster: name, controlPlanes: spec.controlPlanes, workers: spec.workers })
  return machines.map((machine, index) => ({
    ...machine,
    network: index + 2,
    address: `192.168.77.${10 + index}`,
    mac: `52:54:00:77:00:${(10 + index).toString(16).padStart(2, '0')}`,
  }))
}

/**
 * Steps from what is there to a cluster that runs; none when it does. `wanted` is undefined to start a cluster as it was made. Or why not: CliFault
 * `cluster_differs`, `context_exists`, `cluster_damaged`, `cluster_unknown`.
 */
export function decideRaise(wanted: Wanted | undefined, seen: Seen): Result<readonly Step[], CliFault> {
  const refusal = refuse(wanted, seen)
  if (refusal !== undefined) return err(refusal)
  const nodes = seen.record?.nodes ?? (wanted === undefined ? [] : planNodes(wanted.name, wanted.spec))
  const steps: readonly (Step | undefined)[] = [
    seen.record === undefined ? { kind: 'record' } : undefined,
    seen.secrets === 'there' ? undefined : { kind: 'secrets' },
    seen.hasImage ? undefined : { kind: 'image' },
    ...nodes
      .filter(({ name }) => !seen.running.includes(name))
      .map(({ name }): Step => ({ kind: 'power-on', node: name })),
  ]
  const left = steps.filter((step) => step !== undefined)
  // A start gives the context a new certificate: that of an administrator is short-lived.
  return ok(left.length === 0 && seen.context === 'own' ? [] : [...left, { kind: 'context' }])
}

/** Names of what is different, as options of the command line; none when the record is what is wanted. */
export function differences(wanted: Wanted, record: ClusterRecord): readonly string[] {
  const { spec } = wanted
  const before = record.spec
  const pairs: readonly (readonly [string, unknown, unknown])[] = [
    ['--control-planes', before.controlPlanes, spec.controlPlanes],
    ['--workers', before.workers, spec.workers],
    ['--memory', before.memoryMiB, spec.memoryMiB],
    ['--disk', before.diskGiB, spec.diskGiB],
    ['--boot', before.boot, spec.boot],
    ['--image', before.image, spec.image],
  ]
  return pairs.filter(([, was, is]) => was !== is).map(([option, was]) => `${option} ${String(was)}`)
}

function refuse(wanted: Wanted | undefined, seen: Seen): CliFault | undefined {
  const { record } = seen
  if (record === undefined && wanted === undefined) return unknownCluster()
  const damage = damageOf(seen)
  if (damage !== undefined) {
    return new CliFault('cluster_damaged', damage, {
      hint: 'take it away with stelectl cluster destroy, and make it anew',
    })
  }
  if (seen.context === 'foreign') {
    return new CliFault('context_exists', 'a context of this name belongs to something else', {
      hint: 'choose another name for the cluster, or stelectl config rename the context',
    })
  }
  return record === undefined || wanted === undefined ? undefined : refuseOther(wanted, record, seen)
}

function damageOf({ record, secrets, disks, running }: Seen): string | undefined {
  if (secrets === 'damaged' || (secrets === 'none' && disks.length > 0)) {
    return 'the secrets of the cluster are gone or damaged, and its nodes know no others'
  }
  // Where they are reached was in the record.
  if (record !== undefined || running.length === 0) return undefined
  return `the record of the cluster is gone, and ${running.join(', ')} on`
}

function refuseOther(wanted: Wanted, record: ClusterRecord, seen: Seen): CliFault | undefined {
  const differing = differences(wanted, record)
  if (differing.length > 0) {
    return new CliFault(
      'cluster_differs',
      `the cluster ${wanted.name} is there, made with ${differing.join(' ')}`,
      {
        hint: `say the same to go on with it, or stelectl cluster destroy ${wanted.name}`,
      },
    )
  }
  const needsImage = !seen.hasImage || seen.disks.length < record.nodes.length
  if (record.rootHash === wanted.rootHash || !needsImage) return undefined
  return new CliFault(
    'cluster_differs',
    `the image in ${wanted.spec.image} is another one since the cluster was begun`,
    {
      hint: `stelectl cluster destroy ${wanted.name}, and make it anew`,
    },
  )
}

export function unknownCluster(name?: string): CliFault {
  const which = name === undefined ? 'cluster of this name' : `cluster ${name}`
  return new CliFault('cluster_unknown', `there is no ${which}`, {
    hint: 'stelectl cluster show lists those that are there',
  })
}
