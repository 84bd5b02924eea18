import fc from 'fast-check'
import { createHash, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { decodeContent, decodeUserData, formatFinding, parseNodeConfiguration, type Finding } from '#config'
import { createClusterSecrets } from '#pki'
import { caCertHashes, kubeadmApiVersion, parseManifests, renderAll, type Manifests } from '#render'

const EXAMPLE = readFileSync(
  join(import.meta.dirname, '../../../bootstrap-provider/examples/cluster.yaml'),
  'utf8',
)
const secrets = await createClusterSecrets({ now: new Date('2026-12-01T00:00:00Z') })

const fail = (findings: readonly Finding[]): never => {
  throw new Error(findings.map(formatFinding).join('\n'))
}

function manifests(text = EXAMPLE): Manifests {
  const parsed = parseManifests(text, { file: 'm' })
  return parsed.ok ? parsed.value : fail(parsed.error)
}

function render(text = EXAMPLE, trustEndpoints?: readonly string[]) {
  const rendered = renderAll(manifests(text), secrets, trustEndpoints === undefined ? {} : { trustEndpoints })
  return rendered.ok ? rendered.value : fail(rendered.error)
}

const refuse = (text: string) => {
  const rendered = renderAll(manifests(text), secrets)
  return rendered.ok ? [] : rendered.error.map((one) => `${one.code} ${one.path} ${one.line}`)
}

function parse(userData: string) {
  const parsed = parseNodeConfiguration(userData, { file: 'u' })
  return parsed.ok ? parsed.value : fail(parsed.error)
}

const one = (text: string, name: string) => {
  const found = render(text).find((machine) => machine.machineName === name)
  if (found === undefined) throw new Error('not rendered')
  return { ...found, parsed: parse(found.userData) }
}

/** The example with another control plane in it. */
const SECOND = `${EXAMPLE}---\n${EXAMPLE.split('---\n').slice(1, 3).join('---\n').replaceAll('cp-1', 'cp-2')}`

describe('renderAll', () => {
  it('gives a control plane that starts the cluster, and a worker that joins it', () => {
    const rendered = render(EXAMPLE, ['127.0.0.1:12345'])
    expect(rendered.map(({ machineName, role }) => [machineName, role])).toEqual([
      ['cp-1', 'control-plane'],
      ['worker-1', 'worker'],
    ])
    const [first, worker] = rendered.map((machine) => parse(machine.userData))
    expect(first).toMatchObject({
      role: 'control-plane',
      node: {
        hostname: 'cp-1',
        trust: { ...secrets.joinCredential, certSANs: ['127.0.0.1'], caKey: secrets.nodeCa.privateKeyPem },
      },
      kubeadm: [
        {
          clusterName: 'demo',
          kubernetesVersion: 'v1.31.4',
          controlPlaneEndpoint: '127.0.0.1:6443',
          networking: { podSubnet: '10.244.0.0/16', serviceSubnet: '10.96.0.0/12' },
        },
        { bootstrapTokens: [{ token: secrets.bootstrapToken }], nodeRegistration: { name: 'cp-1' } },
      ],
    })
    expect(worker).toMatchObject({
      role: 'worker',
      node: {
        hostname: 'worker-1',
        trust: {
          ...secrets.joinCredential,
          ca: secrets.nodeCa.certificatePem,
          endpoints: ['127.0.0.1:12345'],
        },
      },
      kubeadm: [
        {
          discovery: {
            bootstrapToken: {
              token: secrets.bootstrapToken,
              apiServerEndpoint: '127.0.0.1:6443',
              caCertHashes: caCertHashes(secrets.kubernetesCa.certificatePem),
            },
          },
          nodeRegistration: {
            name: 'worker-1',
            taints: [{ key: 'node.cluster.x-k8s.io/uninitialized', effect: 'NoSchedule' }],
          },
        },
      ],
    })
  })

  it('gives a worker no private key and nothing of a control plane', () => {
    const { userData, parsed } = one(SECOND, 'worker-1')
    expect(userData).not.toContain('PRIVATE KEY')
    expect(userData).not.toContain(secrets.certificateKey)
    for (const { privateKeyPem } of [
      secrets.nodeCa,
      secrets.kubernetesCa,
      secrets.etcdCa,
      secrets.frontProxyCa,
      secrets.serviceAccount,
    ]) {
      for (const line of privateKeyPem.split('\n').slice(1, -2)) expect(userData).not.toContain(line)
    }
    expect(parsed.node.trust?.caKey).toBeUndefined()
    expect(parsed.node.files).toEqual([])
  })

  it('puts the authorities where kubeadm looks for them, keys for root alone', () => {
    const { files } = one(EXAMPLE, 'cp-1').parsed.node
    expect(
      files.map(({ path, permissions }) => `${permissions} ${path.replace('/etc/kubernetes/pki/', '')}`),
    ).toEqual([
      '0640 ca.crt',
      '0600 ca.key',
      '0640 etcd/ca.crt',
      '0600 etcd/ca.key',
      '0640 front-proxy-ca.crt',
      '0600 front-proxy-ca.key',
      '0640 sa.pub',
      '0600 sa.key',
    ])
    expect(files.find(({ path }) => path.endsWith('/pki/ca.key'))?.content).toBe(
      secrets.kubernetesCa.privateKeyPem,
    )
  })

  it('lets exactly one control plane start the cluster; the others join it', () => {
    const kinds = render(SECOND).map((machine) => [
      machine.machineName,
      ...parse(machine.userData).kubeadm.map((document) => document.kind),
    ])
    expect(kinds).toEqual([
      ['cp-1', 'ClusterConfiguration', 'InitConfiguration'],
      ['worker-1', 'JoinConfiguration'],
      ['cp-2', 'JoinConfiguration'],
    ])
    const { parsed } = one(SECOND, 'cp-2')
    expect(parsed.role).toBe('control-plane')
    expect(parsed.kubeadm[0]).toMatchObject({ controlPlane: { certificateKey: secrets.certificateKey } })
    expect(parsed.kubeadm[0]).not.toHaveProperty('nodeRegistration.taints')
  })

  it('gives the same bytes for the same input', () => {
    expect(render(SECOND)).toEqual(render(SECOND))
  })

  it.each([
    ['v1.21.9', undefined],
    ['v1.22.0-alpha.0', 'kubeadm.k8s.io/v1beta3'],
    ['v1.30.99', 'kubeadm.k8s.io/v1beta3'],
    ['v1.31.0', 'kubeadm.k8s.io/v1beta4'],
    ['1.31.0-rc.1', 'kubeadm.k8s.io/v1beta4'],
    ['v99.99.99', 'kubeadm.k8s.io/v1beta4'],
    ['v1.31', undefined],
    ['stable', undefined],
  ])('chooses the kubeadm API for Kubernetes %s', (version, expected) => {
    expect(kubeadmApiVersion(version)).toBe(expected)
  })

  it('writes v1beta3 for older Kubernetes, arguments as a map', () => {
    const { kubeadmApiVersion: api, parsed } = one(EXAMPLE.replaceAll('v1.31.4', 'v1.30.1'), 'cp-1')
    expect(api).toBe('kubeadm.k8s.io/v1beta3')
    expect(parsed.kubeadm[0]).toMatchObject({ apiServer: { extraArgs: { profiling: 'false' } } })
  })

  it('keeps what the manifest says over what it would fill in', () => {
    const text = EXAMPLE.replace(
      'spec:\n  nodeConfig:',
      `spec:
  joinConfiguration:
    discovery: {bootstrapToken: {token: zzzzzz.zzzzzzzzzzzzzzzz}}
    nodeRegistration: {taints: [{key: a, effect: NoExecute}]}
  nodeConfig:`,
    )
    expect(one(text, 'worker-1').parsed.kubeadm[0]).toMatchObject({
      discovery: {
        bootstrapToken: { token: 'zzzzzz.zzzzzzzzzzzzzzzz', apiServerEndpoint: '127.0.0.1:6443' },
      },
      nodeRegistration: { taints: [{ key: 'a' }, { key: 'node.cluster.x-k8s.io/uninitialized' }] },
    })
  })

  it('writes an IPv6 endpoint in brackets (BR-074)', () => {
    const text = EXAMPLE.replace('host: 127.0.0.1', 'host: 2001:db8::1')
    expect(one(text, 'cp-1').parsed.kubeadm[0]).toMatchObject({ controlPlaneEndpoint: '[2001:db8::1]:6443' })
    expect(one(text, 'worker-1').parsed.node.trust?.endpoints).toEqual(['[2001:db8::1]:50001'])
    expect(one(text, 'cp-1').parsed.node.trust?.certSANs).toEqual(['2001:db8::1'])
  })

  it.each([
    [
      '    host: 127.0.0.1\n    port: 6443\n',
      '    {}\n',
      /^endpoint_missing spec.controlPlaneEndpoint|^required/,
    ],
    ['host: 127.0.0.1', 'host: "a b"', /^endpoint_invalid spec.controlPlaneEndpoint.host 9/],
    ['host: 127.0.0.1', 'host: 127.0.0.1:1', /^endpoint_invalid spec.controlPlaneEndpoint.host 9/],
    ['  version: v1.31.4\n', '', /^version_missing spec.version/],
    ['v1.31.4', 'v1.21.0', /^version_unsupported spec.version/],
    [
      'spec:\n  nodeConfig:',
      'spec:\n  clusterConfiguration: {}\n  nodeConfig:',
      /^field_without_effect spec.clusterConfiguration/,
    ],
    [
      'spec:\n  nodeConfig:',
      'spec:\n  files: [{path: /etc/shadow, content: x}]\n  nodeConfig:',
      /^path_not_allowed/,
    ],
    [
      'spec:\n  nodeConfig:',
      'spec:\n  files: [{path: /etc/stele/a, content: "%", encoding: base64}]\n  nodeConfig:',
      /^content_form spec/,
    ],
  ])('refuses %j written as %j, pointing into the manifest', (good, bad, expected) => {
    const text = EXAMPLE.replace(good, bad)
    const parsed = parseManifests(text, { file: 'm' })
    const said = parsed.ok
      ? refuse(text)
      : parsed.error.map((finding) => `${finding.code} ${finding.path} ${finding.line}`)
    expect(said[0]).toMatch(expected)
  })

  it('brings files to the node with identical bytes (BR-079)', () => {
    const samples = [
      `sed 's/{{ .X }}/a\\/b: "c"/' f # not comment`,
      '\ttab',
      '---',
      'a\n---\nb\n',
      '| x',
      ' trailing ',
      'no final newline',
      'a\r\nb\r\n',
      '${VAR} %{x} {{ .X }}',
      '\u0000',
      '\uFEFFbom',
      '',
      '\n',
      '\n\n',
    ]
    fc.assert(
      fc.property(
        fc.oneof(fc.constantFrom(...samples), fc.string({ unit: 'grapheme' })),
        fc.boolean(),
        (content, encode) => {
          const written = encode ? Buffer.from(content).toString('base64') : content
          const file = { path: '/etc/stele/a', content: written, ...(encode ? { encoding: 'base64' } : {}) }
          const text = EXAMPLE.replace(
            'spec:\n  nodeConfig:',
            () => `spec:\n  files: [${JSON.stringify(file)}]\n  nodeConfig:`,
          )
          const { userData } = one(text, 'worker-1')
          const decoded = decodeUserData(Buffer.from(userData))
          if (!decoded.ok) throw decoded.error
          const [back] = parse(decoded.value.text).node.files
          if (back === undefined) throw new Error('the file is gone')
          expect(decodeContent(back)).toEqual(Buffer.from(content))
        },
      ),
      { numRuns: 60 },
    )
  })
})

describe('caCertHashes', () => {
  it('pins every certificate of a bundle by its public key (BR-071)', () => {
    const bundle = `old\r\n${secrets.kubernetesCa.certificatePem}${secrets.etcdCa.certificatePem}`
    const expected = [secrets.kubernetesCa, secrets.etcdCa].map(({ certificatePem }) => {
      const key = new X509Certificate(certificatePem).publicKey.export({ type: 'spki', format: 'der' })
      return `sha256:${createHash('sha256').update(key).digest('hex')}`
    })
    expect(caCertHashes(bundle)).toEqual(expected)
  })
})
