import { describe, expect, it } from 'vitest'
import {
  accept,
  block,
  brief,
  CLUSTER,
  INIT,
  JOIN,
  KUBELET,
  NODE,
  refuse,
  TRUST_CA,
  TRUST_KEY,
} from './sample.ts'

const docs = (...all: string[]) => all.join('---\n')

describe('the role of a node', () => {
  it.each([
    ['InitConfiguration', docs(INIT, NODE), 'control-plane'],
    ['ClusterConfiguration', CLUSTER, 'control-plane'],
    ['JoinConfiguration', JOIN, 'worker'],
    ['JoinConfiguration with controlPlane', `${JOIN}controlPlane: {}\n`, 'control-plane'],
    ['NodeConfig alone', NODE, 'undecided'],
    ['NodeConfig with trust.caKey', `${NODE}trust:\n${TRUST_CA}${TRUST_KEY}`, 'control-plane'],
  ])('follows from %s', (_name, text, role) => {
    expect(accept(text).role).toBe(role)
  })
})

describe('documents together', () => {
  it.each([
    ['Init and Join', docs(INIT, JOIN), ['init_and_join kind 5:7']],
    ['two NodeConfigs', docs(NODE, NODE), ['duplicate_document - 4:1']],
    ['two InitConfigurations', docs(INIT, INIT), ['duplicate_document - 4:1']],
    [
      'kubeadm documents of two versions',
      docs(INIT, CLUSTER.replace('v1beta4', 'v1beta3')),
      ['mixed_versions apiVersion 4:13'],
    ],
    ['an unknown kind', 'apiVersion: v1\nkind: Pod\n', ['unknown_kind kind 2:7']],
    ['no kind', 'apiVersion: v1\n', ['unknown_kind kind 1:1']],
    ['a list', '- a\n', ['not_a_mapping - 1:1']],
    ['text', 'hello\n', ['not_a_mapping - 1:1']],
    [
      'an unknown version',
      'apiVersion: kubeadm.k8s.io/v1beta2\nkind: InitConfiguration\n',
      ['unknown_version apiVersion 1:13'],
    ],
    ['nothing', '', ['empty - 1:1']],
    ['comments', '# a\n---\n# b\n', ['empty - 1:1']],
  ])('refuses %s', (_name, text, expected) => {
    expect(brief(refuse(text))).toEqual(expected)
  })

  it('says what is accepted', () => {
    expect(refuse('apiVersion: v1\nkind: NodeConfg\n')[0]?.hint).toBe('did you mean NodeConfig?')
    expect(refuse('apiVersion: a\nkind: NodeConfig\n')[0]?.message).toContain('stele.dev/v1alpha1')
    expect(refuse('apiVersion: a\nkind: JoinConfiguration\n')[0]?.message).toContain(
      'kubeadm.k8s.io/v1beta3 or kubeadm.k8s.io/v1beta4',
    )
  })

  it('refuses kinds that kubeadm join would ignore (BR-069)', () => {
    const findings = refuse(docs(KUBELET, JOIN, CLUSTER))
    expect(brief(findings)).toEqual(['kind_without_effect kind 2:7', 'kind_without_effect kind 11:7'])
    expect(findings[0]?.hint).toContain('/etc/kubernetes/patches')
    expect(brief(refuse(docs(KUBELET, NODE)))).toEqual(['kind_without_effect kind 2:7'])
  })

  it('passes kubelet and kube-proxy settings through as they are', () => {
    const text = docs(CLUSTER, `${KUBELET}maxPods: 50\nevictionHard:\n  memory.available: 5%\n`)
    expect(accept(text).kubeadm[1]).toMatchObject({ maxPods: 50, evictionHard: { 'memory.available': '5%' } })
    expect(brief(refuse(docs(CLUSTER, `${KUBELET}volumeStatsAggPeriod: 0010\n`)))).toEqual([
      'ambiguous_scalar volumeStatsAggPeriod 6:23',
    ])
  })

  it('tells every problem of every document at once', () => {
    const text = docs(
      `${CLUSTER}clusterNam: a\nkubernetesVersion: 1.31\n`,
      `${NODE}hostname: A_B\nfoo: 1\ntrust: {username: a}\n`,
    )
    expect(brief(refuse(text))).toEqual([
      'unknown_key clusterNam 3:1',
      'ambiguous_scalar kubernetesVersion 4:20',
      'hostname_form hostname 8:11',
      'unknown_key foo 9:1',
    ])
  })

  it('treats broken syntax and a misspelt key alike: no configuration, and the line (BR-023)', () => {
    expect(brief(refuse(`${NODE}hostname: "a\n`))[0]).toMatch(/^yaml_syntax /)
    expect(refuse(`${NODE}hostnaem: a\n`)[0]).toMatchObject({
      severity: 'error',
      code: 'unknown_key',
      line: 3,
    })
  })
})

describe('trust', () => {
  const trust = (text: string) => `${NODE}trust:\n${text}`
  const credential = '  username: join-1\n  password: 0-secret-0\n'
  const endpoints = '  endpoints: [cp-1]\n'

  it('takes a worker with authority, endpoints and credential, and fills in the port of trust', () => {
    const { node } = accept(docs(JOIN, trust(`${TRUST_CA}${endpoints}${credential}`)))
    expect(node.trust?.endpoints).toEqual(['cp-1:50001'])
  })

  it.each([
    ['no CA', `${endpoints}${credential}`, 'trust_ca_missing'],
    ['an empty CA', `  ca: ""\n${endpoints}${credential}`, 'pem_form'],
    ['a CA of words', `  ca: none\n${endpoints}${credential}`, 'pem_form'],
    ['a damaged CA', `${TRUST_CA.replace('MII', 'MIJ')}${endpoints}${credential}`, 'pem_form'],
    ['no endpoint', `${TRUST_CA}${credential}`, 'trust_endpoints_missing'],
    ['half a credential', `${TRUST_CA}${endpoints}  username: a\n`, 'credential_incomplete'],
    ['the other half', `${TRUST_CA}${endpoints}  password: 0-secret-0\n`, 'credential_incomplete'],
    ['the key of the CA', `${TRUST_CA}${TRUST_KEY}${endpoints}${credential}`, 'ca_key_on_worker'],
    [
      'a private key in the CA',
      `  ca: ${block('-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n', 4)}`,
      'private_key_in_ca',
    ],
    ['pins of nothing', `  caPins: [sha256:${'a'.repeat(64)}]\n`, 'trust_ca_missing'],
  ])('refuses a worker with %s (BR-042)', (_name, text, code) => {
    expect(refuse(docs(JOIN, trust(text))).map((one) => one.code)).toEqual([code])
  })

  it('takes a CA with text around it and CRLF inside (BR-042)', () => {
    const text = docs(JOIN, trust(`${TRUST_CA.replace('|\n', '|\n    issued for tests\n')}`)).replaceAll(
      '\n',
      '\r\n',
    )
    expect(accept(text).node.trust?.ca).toContain('issued for tests')
  })

  it('refuses the key of another authority on a control plane', async () => {
    const { createAuthority } = await import('#pki')
    const other = await createAuthority({ commonName: 'other', now: new Date('2026-12-01T00:00:00Z') })
    const text = trust(`${TRUST_CA}  caKey: ${block(other.privateKeyPem, 4)}`)
    expect(refuse(text).map((one) => one.code)).toEqual(['ca_key_mismatch'])
  })
})
