import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseNodeConfiguration, printDocuments, toV1beta3, type KubeadmDocument } from '#config'
import { accept, brief, CLUSTER, INIT, JOIN, NODE, refuse } from '../sample.ts'

const join = (discovery: string) =>
  `apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\ndiscovery:\n  bootstrapToken:\n    token: abcdef.0123456789abcdef\n${discovery}`

const HASH = `sha256:${'0'.repeat(64)}`

const first = (text: string) => JSON.parse(JSON.stringify(accept(text).kubeadm[0])) as Record<string, never>

describe('kubeadm documents', () => {
  it.each([
    ['networking:\n  podSubnett: 10.0.0.0/16\n', 'networking.podSubnett', 'did you mean podSubnet?'],
    ['controlplaneendpoint: a\n', 'controlplaneendpoint', 'did you mean controlPlaneEndpoint?'],
    ['apiServer:\n  extraArg: []\n', 'apiServer.extraArg', 'did you mean extraArgs?'],
  ])('refuses a misspelt field with the closest name (BR-070): %j', (text, path, hint) => {
    const findings = refuse(`${CLUSTER}${text}`)
    expect(findings.map((one) => [one.code, one.path])).toEqual([['unknown_key', path]])
    expect(findings[0]?.message).toContain(hint)
    expect(findings[0]?.hint).toMatch(/^known here: /)
  })

  it('shows the name of an unknown key cut and escaped, and no value', () => {
    const key = `\\e[31m${'k'.repeat(80)}`
    const [finding] = refuse(`${CLUSTER}"${key}": M4RKER\n`)
    expect(finding?.message).toContain(`"\\u001b[31m${'k'.repeat(59)}…"`)
    expect(JSON.stringify(finding)).not.toMatch(/M4RKER|\u001b/)
  })

  it('knows the fields of each version: arguments are a map in v1beta3 and a list in v1beta4', () => {
    const list = 'scheduler:\n  extraArgs:\n    - {name: v, value: "2"}\n    - {name: v, value: "3"}\n'
    const map = 'scheduler:\n  extraArgs: {v: "2"}\n'
    const old = CLUSTER.replace('v1beta4', 'v1beta3')
    expect(first(`${CLUSTER}${list}`)['scheduler']).toEqual({
      extraArgs: [
        { name: 'v', value: '2' },
        { name: 'v', value: '3' },
      ],
    })
    expect(first(`${old}${map}`)['scheduler']).toEqual({ extraArgs: { v: '2' } })
    expect(brief(refuse(`${CLUSTER}${map}`))).toEqual(['wrong_type scheduler.extraArgs 4:14'])
    expect(brief(refuse(`${old}${list}`))).toEqual(['wrong_type scheduler.extraArgs 5:5'])
    expect(brief(refuse(`${INIT.replace('v1beta4', 'v1beta3')}timeouts: {}\n`))).toEqual([
      'unknown_key timeouts 3:1',
    ])
  })

  it('takes several CA pins (BR-071), and normalises blanks and upper case (BR-072)', () => {
    const hex = 'ab'.repeat(32)
    const text = join(
      `    apiServerEndpoint: a\n    caCertHashes:\n      - " sha256:${hex}"\n      - "SHA256:${hex.toUpperCase()}"\n`,
    )
    expect(first(text)['discovery']).toMatchObject({
      bootstrapToken: { caCertHashes: [`sha256:${hex}`, `sha256:${hex}`] },
    })
  })

  it.each([`sha256:${'a'.repeat(63)}`, `sha512:${'a'.repeat(64)}`, '', 'sha256:'])(
    'refuses the CA pin %j with what is expected (BR-072)',
    (pin) => {
      const findings = refuse(join(`    caCertHashes: ["${pin}"]\n    apiServerEndpoint: a\n`))
      expect(brief(findings)).toEqual(['ca_hash_form discovery.bootstrapToken.caCertHashes[0] 6:20'])
      expect(findings[0]?.message).toContain('sha256: and 64 hexadecimal digits')
    },
  )

  it.each([
    ['api.example.test', 'api.example.test:6443'],
    ['https://api.example.test:6443/', 'api.example.test:6443'],
    ['api.example.test:6443', 'api.example.test:6443'],
    ['2001:db8::1', '[2001:db8::1]:6443'],
    ['[2001:db8::1]:6443', '[2001:db8::1]:6443'],
    ['[2001:db8::1]', '[2001:db8::1]:6443'],
  ])('normalises the endpoint %s (BR-073, BR-074)', (written, expected) => {
    expect(
      first(join(`    apiServerEndpoint: "${written}"\n    caCertHashes: [${HASH}]\n`))['discovery'],
    ).toMatchObject({
      bootstrapToken: { apiServerEndpoint: expected },
    })
    expect(first(`${CLUSTER}controlPlaneEndpoint: "${written}"\n`)['controlPlaneEndpoint']).toBe(expected)
  })

  it.each([':6443', 'host:99999', 'a b:6443', '2001:db8::5:50000:', 'fe80::1%eth0', 'host:', ''])(
    'refuses the endpoint %j (BR-073)',
    (written) => {
      const [finding, ...rest] = refuse(`${CLUSTER}controlPlaneEndpoint: "${written}"\n`)
      expect(rest).toEqual([])
      expect(finding?.code).toMatch(/^endpoint_/)
      if (written.length > 5) expect(finding?.message).not.toContain(written)
    },
  )

  it('refuses tokens, versions, keys and subnets of another form', () => {
    const text = `${CLUSTER}kubernetesVersion: "1.30"\nnetworking: {serviceSubnet: 10.0.0.0/33}\n---\n${INIT}certificateKey: abc\nbootstrapTokens: [{token: ABC}]\n`
    expect(refuse(text).map((one) => one.code)).toEqual([
      'version_form',
      'cidr_form',
      'certificate_key_form',
      'token_form',
    ])
  })
})

describe('discovery', () => {
  it.each([
    ['no way', JOIN.replace('  file:\n    kubeConfigPath: /a\n', '  tlsBootstrapToken: a\n')],
    [
      'two ways',
      `${JOIN}  bootstrapToken: {token: abcdef.0123456789abcdef, apiServerEndpoint: a, caCertHashes: [${HASH}]}\n`,
    ],
    ['no endpoint', join(`    caCertHashes: [${HASH}]\n`)],
    ['no pins', join('    apiServerEndpoint: a\n')],
    ['an empty list of pins', join('    apiServerEndpoint: a\n    caCertHashes: []\n')],
  ])('refuses %s, before kubeadm would on the node (BR-042)', (_name, text) => {
    expect(brief(refuse(text))).toEqual(['discovery_incomplete discovery 4:3'])
    expect(refuse(text.replace('v1beta4', 'v1beta3')).map((one) => one.code)).toEqual([
      'discovery_incomplete',
    ])
  })

  it('goes without pins when the document says that it wants to', () => {
    accept(join('    apiServerEndpoint: a\n    unsafeSkipCAVerification: true\n'))
  })
})

describe('printDocuments', () => {
  it('gives every document a separator of its own, and reads back equal (BR-069)', () => {
    const { kubeadm } = accept(
      `${CLUSTER}kubernetesVersion: v1.31.0\nclusterName: "1.30"\n---\n${INIT}certificateKey: "${'1'.repeat(64)}"`,
    )
    const text = printDocuments(kubeadm)
    expect(text.match(/^---$/gm)).toHaveLength(2)
    expect(accept(text).kubeadm).toEqual(kubeadm)
  })

  it('round-trips hostile text in arguments (BR-079)', () => {
    const value = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom('---', 'a: "b"', '# x', '{{ .X }}', '${VAR}', 'true', '0644', 'a\n---\nb', '\t', 'x '),
    )
    fc.assert(
      fc.property(fc.array(value, { maxLength: 5 }), (values) => {
        const document: KubeadmDocument = {
          apiVersion: 'kubeadm.k8s.io/v1beta4',
          kind: 'ClusterConfiguration',
          scheduler: { extraArgs: values.map((one) => ({ name: 'v', value: one })) },
        }
        expect(accept(printDocuments([document])).kubeadm).toEqual([document])
      }),
      { numRuns: 200 },
    )
  })
})

describe('toV1beta3', () => {
  it('gives documents that the older schema accepts', () => {
    const args = [{ name: 'a', value: '1' }]
    const documents = [
      toV1beta3({
        apiVersion: 'kubeadm.k8s.io/v1beta4',
        kind: 'ClusterConfiguration',
        apiServer: { extraArgs: args, extraEnvs: [{ name: 'A', value: 'b' }] },
        etcd: { local: { extraArgs: args, extraEnvs: [] } },
        dns: { disabled: true, imageTag: 'v1' },
        proxy: { disabled: true },
        encryptionAlgorithm: 'RSA-2048',
        certificateValidityPeriod: '24h',
      }),
      toV1beta3({
        apiVersion: 'kubeadm.k8s.io/v1beta4',
        kind: 'InitConfiguration',
        dryRun: false,
        timeouts: { discovery: '5m' },
        nodeRegistration: { kubeletExtraArgs: args, imagePullSerial: true },
      }),
    ]
    expect(accept(printDocuments(documents)).kubeadm).toEqual(documents)
    expect(documents[0]).toEqual({
      apiVersion: 'kubeadm.k8s.io/v1beta3',
      kind: 'ClusterConfiguration',
      apiServer: { extraArgs: { a: '1' } },
      etcd: { local: { extraArgs: { a: '1' } } },
      dns: { imageTag: 'v1' },
    })
  })

  it('moves the time-out of discovery to its old place', () => {
    const converted = toV1beta3({
      apiVersion: 'kubeadm.k8s.io/v1beta4',
      kind: 'JoinConfiguration',
      discovery: { file: { kubeConfigPath: '/a' } },
      timeouts: { discovery: '5m' },
    })
    expect(converted).toMatchObject({ discovery: { file: { kubeConfigPath: '/a' }, timeout: '5m' } })
    expect(parseNodeConfiguration(printDocuments([converted]), { file: 'f' }).ok).toBe(true)
  })
})

it('keeps kubeadm documents beside a NodeConfig in the order of the file', () => {
  expect(accept(`${NODE}---\n${JOIN}`).kubeadm.map((one) => one.kind)).toEqual(['JoinConfiguration'])
})
