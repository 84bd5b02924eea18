import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { changesBetween, decodeContent, effectOf, nodeConfigFields, nodeConfigJsonSchema } from '#config'
import { accept, brief, CLUSTER, INIT, JOIN, NODE, refuse, TRUST_CA } from '../sample.ts'

const root = join(import.meta.dirname, '../../../..')

describe('hostname', () => {
  it.each(['cp-1', 'a', 'node-a.example.test', 'a1.2b'])('takes %s', (name) => {
    expect(accept(`${NODE}hostname: ${name}\n`).node.hostname).toBe(name)
  })

  it.each([
    'Node_A',
    'UPPER.example.test',
    'a.',
    '"123"',
    '""',
    'localhost',
    '-a',
    `${'a'.repeat(64)}.b`,
    `a.${'b'.repeat(63)}`,
    '10.0.0.1',
  ])('refuses %s, since a person wrote it (BR-118)', (name) => {
    expect(brief(refuse(`${NODE}hostname: ${name}\n`))).toEqual(['hostname_form hostname 3:11'])
  })
})

describe('files', () => {
  const file = (fields: Record<string, string>) =>
    `${NODE}files:\n  - ${JSON.stringify({ path: '/etc/stele/a', content: 'x', ...fields })}\n`

  it.each([
    '/etc/shadow',
    '/etc/stele',
    '/etc/stele/',
    '/etc/stele/../shadow',
    '/etc/stele//a',
    '/etc/stele/./a',
    'etc/stele/a',
    '/etc/stelex/a',
    '/etc/stele/a\nb',
    '/etc/kubernetes/pki/../../shadow',
    '//etc/stele/a',
    `/etc/stele/${'a'.repeat(252)}`,
    `/etc/stele/${'ä'.repeat(126)}/b`,
    '/etc/stele/a\u0085b',
    '/etc/stele/a\u202eb',
    '/etc/stele/a\u2066b',
    '/etc/stele/a\u200bb',
    '/etc/stele/a\ufeffb',
    '/etc/stele/a\u2028b',
    '/etc/stele/a\ud800b',
  ])('refuses the path %j', (path) => {
    expect(refuse(file({ path }))[0]?.code).toMatch(/^path_/)
  })

  it.each([
    '/etc/kubernetes/pki/etcd/ca.crt',
    '/etc/kubernetes/patches/kubeletconfiguration.yaml',
    '/etc/cni/net.d/10.conflist',
    '/var/lib/stele/files/a..b',
    `/etc/stele/${'a'.repeat(251)}/${'ä'.repeat(125)}`,
  ])('takes the path %s', (path) => {
    expect(accept(file({ path })).node.files[0]).toMatchObject({
      path,
      permissions: '0600',
      owner: 'root:root',
    })
  })

  it('refuses the same path twice, content that its encoding does not fit, and content above the cap', () => {
    expect(
      brief(
        refuse(`${NODE}files:\n  - {path: /etc/stele/a, content: x}\n  - {path: /etc/stele/a, content: y}\n`),
      ),
    ).toEqual(['duplicate_path files[1].path 5:12'])
    const large = 'a'.repeat(64 * 1024 + 1)
    const bomb = gzipSync(Buffer.alloc(1024 * 1024)).toString('base64')
    expect(refuse(file({ content: 'a%b=', encoding: 'base64' }))[0]?.code).toBe('content_form')
    expect(refuse(file({ content: 'YWI', encoding: 'base64' }))[0]?.code).toBe('content_form')
    expect(refuse(file({ content: 'YWJj', encoding: 'gzip' }))[0]?.code).toBe('content_form')
    expect(refuse(file({ content: large }))[0]?.code).toBe('content_too_large')
    expect(refuse(file({ content: bomb, encoding: 'gzip+base64' }))[0]?.code).toBe('content_too_large')
    expect(refuse(`${NODE}files: [${'{},'.repeat(201)}]\n`).map((one) => one.code)).toContain('out_of_range')
  })

  it.each([
    ['twice', ['/etc/stele/q', '/etc/stele/q'], 'duplicate_path files[1].path 5:12'],
    ['as a folder', ['/etc/stele/q', '/etc/stele/q/r'], 'path_conflict files[1].path 5:12'],
    ['as a folder, first', ['/etc/stele/q/r/s', '/etc/stele/q'], 'path_conflict files[0].path 4:12'],
    ['while it is written', ['/etc/stele/q.new', '/etc/stele/q'], 'path_conflict files[0].path 4:12'],
  ])('refuses a path that another entry has %s', (_how, all, expected) => {
    const entries = all.map((path) => `  - {path: ${path}, content: x}\n`).join('')
    expect(brief(refuse(`${NODE}files:\n${entries}`))).toEqual([expected])
  })

  it('takes paths that begin alike', () => {
    const all = ['/etc/stele/q', '/etc/stele/q.d/r', '/etc/stele/qr', '/etc/stele/s.new', '/etc/stele/.new']
    const entries = all.map((path) => `  - {path: ${path}, content: x}\n`).join('')
    expect(accept(`${NODE}files:\n${entries}`).node.files.map((one) => one.path)).toEqual(all)
  })

  it('decodes to the bytes that were encoded', () => {
    const bytes = Buffer.from([0, 255, 13, 10, 9, 32])
    expect(decodeContent({ content: bytes.toString('base64'), encoding: 'base64' })).toEqual(bytes)
    expect(decodeContent({ content: gzipSync(bytes).toString('base64'), encoding: 'gzip+base64' })).toEqual(
      bytes,
    )
    expect(decodeContent({ content: 'tëxt\r\n' })).toEqual(Buffer.from('tëxt\r\n'))
  })
})

describe('other fields', () => {
  it('takes a configuration of every field', () => {
    const { node } =
      accept(`${JOIN}---\n${NODE}trust:\n${TRUST_CA}  endpoints: ["[2001:db8::5]:50000", node-a]
network: {links: [{name: eth0, addresses: [192.0.2.10/24], gateway: 192.0.2.1, dns: [192.0.2.53], mtu: 1500, dhcp: false}]}
time: {servers: [time.example.test], bootTimeout: 90s}
disks: {state: {device: /dev/disk/by-id/a, encryption: tpm2}}
registries: {mirrors: {docker.io: {endpoints: ["https://mirror.example.test/v2"]}}, auth: {docker.io: {username: a, password: b}}}
kubernetes: {version: v1.31.4, ha: {endpoint: api.example.test, vip: 192.0.2.5}, nodeLabels: {node.kubernetes.io/role: a}, taints: [{key: a, effect: NoSchedule}], providerID: "aws:///a/i-1"}
sysctls: {net.ipv4.ip_forward: "1"}
kernelModules: [br_netfilter]
upgrade: {channel: beta, tries: 5, healthTimeout: 5m}
metadataAccess: none
audit: {maxSizeMiB: 1, keep: 2}
features: {A: true}
`)
    expect(node.trust?.endpoints).toEqual(['[2001:db8::5]:50000', 'node-a:50001'])
    expect(node.kubernetes?.ha?.endpoint).toBe('api.example.test:6443')
  })

  it('refuses 2001:db8::5:50000x and zones as endpoints (BR-056)', () => {
    for (const text of ['fe80::1%eth0', '2001:db8::5:500001', '[fe80::1%eth0]:1', '[::1']) {
      expect(refuse(`${NODE}trust: {endpoints: ["${text}"]}\n`)[0]?.code).toMatch(/^endpoint_/)
    }
  })

  it.each([
    ['registries: {mirrors: {a.test: {endpoints: ["https://user:pw@b.test"]}}}', 'url_form'],
    ['kubernetes: {nodeLabels: {node-role.kubernetes.io/control-plane: ""}}', 'label_reserved'],
    ['sysctls: {"../../x": "1"}', 'wrong_form'],
    ['sysctls: {net.ipv4.ip_forward: 1}', 'ambiguous_scalar'],
    ['time: {bootTimeout: 60}', 'ambiguous_scalar'],
    ['time: {bootTimeout: soon}', 'duration_form'],
    ['metadataAccess: all', 'not_allowed'],
    ['upgrade: {tries: 0}', 'out_of_range'],
    ['network: {links: [{name: eth0}, {name: eth0}]}', 'duplicate_name'],
    ['trust: {certSANs: ["*.example.test"]}', 'host_form'],
    ['trust: {usernam: a}', 'unknown_key'],
    ['features: {A: "yes"}', 'wrong_type'],
    ['kernelModules: br_netfilter', 'wrong_type'],
  ])('refuses %s as %s', (line, code) => {
    expect(refuse(`${NODE}${line}\n`).map((one) => one.code)).toEqual([code])
  })
})

describe('the effect of a change', () => {
  const paths = (schema: unknown, at: string): string[] => {
    const properties = (schema as { properties?: Record<string, unknown> }).properties
    if (properties === undefined || at.split('.').length > 2) return [at]
    return Object.entries(properties).flatMap(([key, child]) =>
      paths(child, at === '' ? key : `${at}.${key}`),
    )
  }

  it('has a row for every path of the schema', () => {
    const all = paths(nodeConfigJsonSchema(), '').filter((path) => path !== 'apiVersion' && path !== 'kind')
    expect(all.length).toBeGreaterThan(Object.keys(nodeConfigFields).length)
    expect(all.filter((path) => effectOf(path) === undefined)).toEqual([])
    expect(effectOf('trust.new')).toBeUndefined()
    expect(effectOf('constructor')).toBeUndefined()
  })

  it('names what changed at the level of its rows, without values', () => {
    const before = accept(`${NODE}hostname: a\nsysctls: {vm.x: "1"}\n`)
    const after = accept(
      `${NODE}hostname: b\nsysctls: {vm.x: "2"}\ntrust: {certSANs: [c]}\ntime: {bootTimeout: 60s}\n`,
    )
    expect(changesBetween(before, after)).toEqual([
      { path: 'hostname', effect: 'immutable' },
      { path: 'trust.certSANs', effect: 'live' },
      { path: 'sysctls', effect: 'live' },
    ])
    expect(changesBetween(after, after)).toEqual([])
  })

  it('counts kubeadm documents by kind, and a change of role as one that needs a new node', () => {
    const init = accept(`${INIT}---\n${CLUSTER}clusterName: a\n`)
    expect(changesBetween(init, accept(`${INIT}---\n${CLUSTER}clusterName: b\n`))).toEqual([
      { path: 'ClusterConfiguration', effect: 'reboot' },
    ])
    expect(changesBetween(init, accept(JOIN))).toContainEqual({ path: 'role', effect: 'immutable' })
  })
})

it('has its JSON Schema up to date: node agent/config/generate.ts', () => {
  const committed = readFileSync(join(root, 'agent/config/v1alpha1/node-config.schema.json'), 'utf8')
  expect(JSON.parse(committed)).toEqual(JSON.parse(JSON.stringify(nodeConfigJsonSchema())))
})

it.each([
  ['controlplane.yaml', 'control-plane', 'cp-1'],
  ['worker.yaml', 'worker', 'worker-1'],
])('accepts the example %s', (name, role, hostname) => {
  const text = readFileSync(join(root, 'agent/examples', name), 'utf8')
  expect(accept(text)).toMatchObject({ role, node: { hostname } })
  expect(text).not.toContain('PRIVATE KEY')
})
