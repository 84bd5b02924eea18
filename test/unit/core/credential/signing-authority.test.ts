import { describe, expect, it } from 'vitest'
import { clusterNetworks } from '../../../../agent/core/credential/signing-authority.ts'
import type { NodeConfiguration } from '../../../../agent/config/index.ts'

// Documents as they were written; nothing but these fields is read.
const networks = (...kubeadm: readonly object[]) =>
  clusterNetworks({ kubeadm } as unknown as Pick<NodeConfiguration, 'kubeadm'>)

describe('clusterNetworks', () => {
  it('are those of services and pods in the ClusterConfiguration, of both families', () => {
    const networking = { serviceSubnet: '10.0.0.0/16, fd00::/108', podSubnet: '10.244.0.0/16' }
    expect(networks({ kind: 'InitConfiguration' }, { kind: 'ClusterConfiguration', networking })).toEqual([
      '10.0.0.0/16',
      'fd00::/108',
      '10.244.0.0/16',
    ])
  })

  it('are kubeadm’s own network of services when none is written, and none without Kubernetes', () => {
    expect(networks({ kind: 'ClusterConfiguration' })).toEqual(['10.96.0.0/12'])
    expect(networks()).toEqual([])
  })
})
