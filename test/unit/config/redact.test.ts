import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseNodeConfiguration, redact, redactText } from '#config'
import { accept, authority, INIT, CLUSTER, KUBELET, NODE, TRUST_CA, TRUST_KEY } from './sample.ts'

const SECRETS = {
  password: 'M4RKER-password',
  registry: 'M4RKER-registry',
  content: 'M4RKER-content',
  token: 'abcdef.m4rkertokenm4rke',
  key: 'a4'.repeat(32),
  environment: 'M4RKER-environment',
  header: 'M4RKER-header',
  comment: 'M4RKER-comment',
}

const DOCUMENTS = `# ${SECRETS.comment}
${CLUSTER}apiServer: {extraEnvs: [{name: A, value: ${SECRETS.environment}}]}
---
${INIT}bootstrapTokens: [{token: ${SECRETS.token}}]
certificateKey: ${SECRETS.key}
---
${KUBELET}staticPodURLHeader: {authorization: [${SECRETS.header}]}
---
${NODE}hostname: cp-1
trust:
${TRUST_CA}${TRUST_KEY}  username: join-1
  password: ${SECRETS.password}
registries: {auth: {a.test: {username: u, password: ${SECRETS.registry}, token: ${SECRETS.registry}}}}
files: [{path: /etc/stele/a, content: ${SECRETS.content}}]
metadataAccess: host
upgrade: {tries: 3, healthTimeout: 5m}
features: {A: true}
sysctls: {vm.x: y}
network: {links: [{name: eth0, addresses: [192.0.2.1/24], mtu: 1500}]}
kubernetes: {version: v1.31.4, taints: [{key: a, effect: NoSchedule}]}
`

const hidden = [...Object.values(SECRETS), authority.privateKeyPem.split('\n')[1] ?? '']

describe('redaction', () => {
  it('leaves no secret in a configuration, and keeps its shape', () => {
    const configuration = accept(DOCUMENTS)
    const redacted = redact(configuration)
    for (const secret of hidden) expect(JSON.stringify(redacted)).not.toContain(secret)
    expect(redacted.node.trust).toEqual({
      ...configuration.node.trust,
      caKey: '[secret]',
      password: '[secret]',
    })
    expect(redacted.kubeadm[1]).toMatchObject({ bootstrapTokens: [{ token: '[secret]' }] })
  })

  it('prints documents without secrets and comments, and with everything else', () => {
    const text = redactText(DOCUMENTS)
    for (const secret of hidden) expect(text).not.toContain(secret)
    for (const kept of ['hostname: cp-1', 'join-1', 'path: /etc/stele/a', 'BEGIN CERTIFICATE'])
      expect(text).toContain(kept)
    expect(text.match(/^---$/gm)).toHaveLength(4)
  })

  it('shows nothing of what cannot be read', () => {
    expect(redactText(`${DOCUMENTS}broken: [`)).toBe(
      '# not a valid node configuration: nothing of it is shown\n',
    )
    expect(redactText(`pasword: ${SECRETS.password}`)).not.toContain('M4RKER')
  })
})

/** Every place of the documents where a value stands: what follows a colon, a comma, a brace or a dash. */
const values = [...DOCUMENTS.matchAll(/(?<=[:,[] ?)[^\s{}[\],:|#]{1,}(?=[\s\],}])/g)].map((match) => ({
  at: match.index,
  length: match[0].length,
}))

describe('findings', () => {
  it('never hold a value, whichever field is broken with a marker in it', () => {
    expect(values.length).toBeGreaterThan(20)
    const markers = [
      'M4RKER',
      '"M4RKER\\u0000"',
      '[M4RKER]',
      '{a: M4RKER}',
      '&M4RKER x',
      '!M4RKER x',
      '*M4RKER',
      '"M4RKER',
      'M4RKER: x',
      '-----BEGIN M4RKER-----',
    ]
    const clean = DOCUMENTS.replaceAll('M4RKER', 'none')
    const places = [...clean.matchAll(/(?<=[:,[] ?)[^\s{}[\],:|#]{1,}(?=[\s\],}])/g)]
    for (const place of places) {
      for (const marker of markers) {
        const text = `${clean.slice(0, place.index)} ${marker}${clean.slice(place.index + place[0].length)}`
        const parsed = parseNodeConfiguration(text, { file: 'f' })
        if (!parsed.ok) {
          const said = parsed.error.map((one) => `${one.message} ${one.hint ?? ''}`).join('\n')
          // The name of an unknown key may be shown, in quotes.
          expect(said.replaceAll('the key "M4RKER"', '')).not.toContain('M4RKER')
        }
      }
    }
  }, 60_000)

  it('never hold a value of a random text', () => {
    fc.assert(
      fc.property(fc.constantFrom(...values), fc.string({ maxLength: 8 }), (place, junk) => {
        const text = `${DOCUMENTS.slice(0, place.at)}${junk}${DOCUMENTS.slice(place.at + place.length)}`
        const parsed = parseNodeConfiguration(text, { file: 'f' })
        if (!parsed.ok) expect(JSON.stringify(parsed.error)).not.toMatch(/M4RKER|PRIVATE KEY-----/)
      }),
      { numRuns: 100 },
    )
  })
})
