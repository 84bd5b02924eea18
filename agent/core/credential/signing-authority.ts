import { RpcFault } from '#rpc'
import { ownAuthority } from '../identity/obtain.ts'
import type { Node } from '../node.ts'
import { requireConfiguration } from '../rpc/context.ts'
import type { SigningAuthority } from './signer.ts'

/** What the signer needs of this node now; throws FAILED_PRECONDITION when it is no control plane, or one without the key of its CA. */
export function signingAuthority(node: Node): SigningAuthority {
  const { view } = requireConfiguration(node)
  if (view.role !== 'control-plane' || view.authorityKey === undefined) {
    throw new RpcFault('failed_precondition', 'not_signing', 'this node does not sign certificates', {
      hint: 'ask a control plane',
    })
  }
  return {
    authority: ownAuthority(view),
    authorities: view.authorities,
    reservedNames: view.reservedNames,
    reservedAddresses: view.reservedAddresses,
  }
}
