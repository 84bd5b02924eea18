/** What differs between two configurations, and what each difference takes. */
import { isDeepStrictEqual } from 'node:util'
import { valueAt } from './document/check.ts'
import type { NodeConfiguration } from './node-configuration.ts'
import { effects, type Effect } from './v1alpha1/effect.ts'

export type Change = { readonly path: string; readonly effect: Effect }

/** Returns the changed parts at the level of the rows of the effect table, in its order; kubeadm documents count by kind. Never a value. */
export function changesBetween(before: NodeConfiguration, after: NodeConfiguration): readonly Change[] {
  return [...roleChange(before, after), ...nodeChanges(before, after), ...kubeadmChanges(before, after)]
}

function roleChange(before: NodeConfiguration, after: NodeConfiguration): readonly Change[] {
  const isControlPlane = (one: NodeConfiguration) => one.role === 'control-plane'
  return isControlPlane(before) === isControlPlane(after) ? [] : [{ path: 'role', effect: 'immutable' }]
}

function nodeChanges(before: NodeConfiguration, after: NodeConfiguration): readonly Change[] {
  return Object.entries(effects).flatMap(([path, effect]) => {
    const steps = path.split('.')
    return isDeepStrictEqual(valueAt(before.node, steps), valueAt(after.node, steps))
      ? []
      : [{ path, effect }]
  })
}

function kubeadmChanges(before: NodeConfiguration, after: NodeConfiguration): readonly Change[] {
  const kinds = new Set([...before.kubeadm, ...after.kubeadm].map((document) => document.kind))
  return [...kinds].flatMap((kind) => {
    const [old, fresh] = [before, after].map((one) => one.kubeadm.find((document) => document.kind === kind))
    return isDeepStrictEqual(old, fresh) ? [] : [{ path: kind, effect: 'reboot' as const }]
  })
}
