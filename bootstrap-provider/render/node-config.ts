/**
 * The NodeConfig document of one machine.
 *
 * Invariant: a worker gets certificates and the join credential, and never a private key of any authority.
 */
import { NODE_CONFIG_API, TRUST_PORT, type NodeConfigDocument, type NodeFile } from '#config'
import { formatEndpoint, type Endpoint } from '#kit/endpoint'
import type { ClusterSecrets } from '#pki'
import type { RenderInput } from './input.ts'

/** NodeConfig of a control plane: it signs for itself and for workers, and accepts the join credential that they will show. */
export function controlPlaneNodeConfig(input: RenderInput, endpoint: Endpoint): NodeConfigDocument {
  const { secrets, config } = input
  const written = config.spec.nodeConfig?.trust?.certSANs ?? []
  return {
    ...base(input, [...clusterKeys(secrets), ...(config.spec.files ?? [])]),
    trust: {
      ca: secrets.nodeCa.certificatePem,
      caKey: secrets.nodeCa.privateKeyPem,
      username: secrets.joinCredential.username,
      password: secrets.joinCredential.password,
      certSANs: [...new Set([endpoint.host, ...written])],
    },
  }
}

/** NodeConfig of a worker: whom to ask, whom to believe, and what to show. */
export function workerNodeConfig(input: RenderInput, endpoint: Endpoint): NodeConfigDocument {
  const { secrets, config } = input
  const hosts = input.controlPlaneAddresses ?? [endpoint.host]
  const endpoints = input.trustEndpoints ?? hosts.map((host) => formatEndpoint({ host, port: TRUST_PORT }))
  const certSANs = config.spec.nodeConfig?.trust?.certSANs
  return {
    ...base(input, config.spec.files ?? []),
    trust: {
      ca: secrets.nodeCa.certificatePem,
      endpoints: [...endpoints],
      username: secrets.joinCredential.username,
      password: secrets.joinCredential.password,
      ...(certSANs === undefined ? {} : { certSANs }),
    },
  }
}

function base({ machine, config }: RenderInput, files: readonly NodeFile[]): NodeConfigDocument {
  return {
    apiVersion: NODE_CONFIG_API,
    kind: 'NodeConfig',
    hostname: machine.metadata.name,
    ...config.spec.nodeConfig,
    ...(files.length === 0 ? {} : { files: [...files] }),
  }
}

/** The cluster's authorities where kubeadm looks for them; keys for root alone (kubeadm, app/constants). */
function clusterKeys(secrets: ClusterSecrets): readonly NodeFile[] {
  const { kubernetesCa, etcdCa, frontProxyCa, serviceAccount } = secrets
  return [
    pki('ca.crt', kubernetesCa.certificatePem, '0640'),
    pki('ca.key', kubernetesCa.privateKeyPem, '0600'),
    pki('etcd/ca.crt', etcdCa.certificatePem, '0640'),
    pki('etcd/ca.key', etcdCa.privateKeyPem, '0600'),
    pki('front-proxy-ca.crt', frontProxyCa.certificatePem, '0640'),
    pki('front-proxy-ca.key', frontProxyCa.privateKeyPem, '0600'),
    pki('sa.pub', serviceAccount.publicKeyPem, '0640'),
    pki('sa.key', serviceAccount.privateKeyPem, '0600'),
  ]
}

function pki(name: string, content: string, permissions: string): NodeFile {
  return { path: `/etc/kubernetes/pki/${name}`, content, permissions, owner: 'root:root' }
}
