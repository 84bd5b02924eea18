/** What core reads out of a node configuration, in the shape it works with. The one place that knows both. */
import { isIP } from 'node:net'
import { decodeContent, type NodeConfiguration } from '#config'
import { parseEndpoint, type Endpoint } from '#kit/endpoint'
import { Secret } from '#kit/secret'
import { spkiFingerprintOfCertificate, splitCertificates } from '#pki'
import type { HostFile, HostSettings } from './ports.ts'

const TRUST_PORT = 50001

export type NodeView = {
  readonly name: string
  readonly role: 'control-plane' | 'worker'
  /** PEM of each authority of the node API that the configuration names; empty when it names none. */
  readonly authorities: readonly string[]
  readonly authorityKey: Secret<string> | undefined
  readonly trustEndpoints: readonly Endpoint[]
  readonly joinCredential: { readonly username: string; readonly password: Secret<string> } | undefined
  /** Names and addresses of the node certificate besides the node's own. */
  readonly extraNames: readonly string[]
  readonly extraAddresses: readonly string[]
  /** Names and addresses that no joining node may have. */
  readonly reservedNames: readonly string[]
  readonly reservedAddresses: readonly string[]
  readonly host: HostSettings
  readonly files: readonly HostFile[]
}

/** Returns the view of `configuration` for a machine that is called `machineName` unless the configuration says otherwise. Pure. */
export function viewOf(
  configuration: NodeConfiguration,
  machine: { readonly name: string; readonly addresses: readonly string[] },
): NodeView {
  const { node } = configuration
  const trust = node.trust ?? {}
  const name = node.hostname ?? machine.name
  const [extraNames, extraAddresses] = split(trust.certSANs ?? [])
  const [endpointNames, endpointAddresses] = split(apiEndpointHosts(configuration))
  return {
    name,
    role: configuration.role === 'control-plane' ? 'control-plane' : 'worker',
    ...trustOf(trust),
    extraNames,
    extraAddresses,
    reservedNames: [name, ...extraNames, ...endpointNames],
    reservedAddresses: [...machine.addresses, ...extraAddresses, ...endpointAddresses],
    host: { hostname: name, sysctls: { ...node.sysctls } },
    files: filesOf(node.files ?? []),
  }
}

type Trust = NonNullable<NodeConfiguration['node']['trust']>

function trustOf(
  trust: Trust,
): Pick<NodeView, 'authorities' | 'authorityKey' | 'trustEndpoints' | 'joinCredential'> {
  const { username, password } = trust
  return {
    authorities: pinned(trust.ca, trust.caPins ?? []),
    authorityKey: trust.caKey === undefined ? undefined : new Secret(trust.caKey),
    trustEndpoints: (trust.endpoints ?? []).flatMap((text) => {
      const parsed = parseEndpoint(text, { defaultPort: TRUST_PORT })
      return parsed.ok ? [parsed.value] : []
    }),
    joinCredential:
      username === undefined || password === undefined
        ? undefined
        : { username, password: new Secret(password) },
  }
}

function filesOf(files: NonNullable<NodeConfiguration['node']['files']>): readonly HostFile[] {
  return files.map((file) => ({
    path: file.path,
    content: decodeContent(file),
    mode: Number.parseInt(file.permissions ?? '0600', 8),
  }))
}

/** Names and addresses apart. */
function split(hosts: readonly string[]): readonly [readonly string[], readonly string[]] {
  return [hosts.filter((one) => isIP(one) === 0), hosts.filter((one) => isIP(one) !== 0)]
}

/** The authorities that the configuration trusts: all of the bundle, or those of it that a pin names. */
function pinned(bundle: string | undefined, pins: readonly string[]): readonly string[] {
  if (bundle === undefined) return []
  const all = splitCertificates(bundle)
  if (!all.ok) return []
  return pins.length === 0
    ? all.value
    : all.value.filter((pem) => pins.includes(spkiFingerprintOfCertificate(pem)))
}

function apiEndpointHosts(configuration: NodeConfiguration): readonly string[] {
  const written = configuration.kubeadm.flatMap((document) => {
    const fields: Readonly<Record<string, unknown>> = { ...document }
    return typeof fields['controlPlaneEndpoint'] === 'string' ? [fields['controlPlaneEndpoint']] : []
  })
  const ha = configuration.node.kubernetes?.ha
  return [...written, ha?.endpoint, ha?.vip].flatMap((text) => {
    if (text === undefined) return []
    const parsed = parseEndpoint(text, { defaultPort: 6443 })
    return parsed.ok ? [parsed.value.host] : []
  })
}
