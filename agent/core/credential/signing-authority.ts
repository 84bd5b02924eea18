import type { NodeConfiguration } from '#config'
import { RpcFault } from '#rpc'
import { ownAuthority } from '../identity/obtain.ts'
import type { Node } from '../node.ts'
import { requireConfiguration } from '../rpc/context.ts'
import type { SigningAuthority } from './signer.ts'

/** What the signer needs of this node now; throws FAILED_PRECONDITION when it is no control plane, or one without the key of its CA. */
export function signingAuthority(node: Node): SigningAuthority {
  const { view, parsed } = requireConfiguration(node)
  if (view.role !== 'control-plane' || view.authorityKey === undefined) {
    throw new RpcFault('failed_precondition', 'not_signing', 'this node does not sign certificates', {
      hint: 'ask a control plane',
    })
  }
  return {
    authority: ownAuthority(view),
    authorities: view.authorities,
    reservedNames: view.reservedNames,
    reservedAddresses: [...view.reservedAddresses, ...clusterNetworks(parsed)],
  }
}

/** What kubeadm takes when a ClusterConfiguration names no network of services. */
const SERVICES = '10.96.0.0/12'

/** The networks of services and pods that the kubeadm documents name: an address in them is never the address of a machine. Pure. */
export function clusterNetworks(configuration: Pick<NodeConfiguration, 'kubeadm'>): readonly string[] {
  return configuration.kubeadm.flatMap((document) => {
    const { kind, networking }: Readonly<Record<string, unknown>> = { ...document }
    if (kind !== 'ClusterConfiguration') return []
    const isObject = typeof networking === 'object' && networking !== null
    const fields: Readonly<Record<string, unknown>> = isObject ? { ...networking } : {}
    return [fields['serviceSubnet'] ?? SERVICES, fields['podSubnet']].flatMap((list) =>
      typeof list === 'string' ? list.split(',').map((one) => one.trim()) : [],
    )
  })
}
