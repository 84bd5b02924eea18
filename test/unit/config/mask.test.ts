import { describe, expect, it } from 'vitest'
import { parseNodeConfiguration, redactText } from '#config'

const HEAD = 'apiVersion: stele.dev/v1alpha1\nkind: NodeConfig\n'

/** One document for each kind of place that is masked when it is shown. */
const DOCUMENTS = {
  'registry password': `${HEAD}registries:\n  auth:\n    registry.example.test:\n      username: u\n      password: p4ssw0rd\n`,
  'file content': `${HEAD}files:\n  - path: /etc/stele/a\n    content: hidden\n`,
  token:
    'apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\nbootstrapTokens:\n  - token: abcdef.0123456789abcdef\n',
  'extra environment':
    'apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\napiServer:\n  extraEnvs:\n    - name: A\n      value: hidden\n',
}

describe('a document that was shown with its secrets masked', () => {
  it.each(Object.entries(DOCUMENTS))('is refused when it comes back: %s', (_where, text) => {
    const shown = redactText(text)
    expect(shown).toContain('[secret]')
    const parsed = parseNodeConfiguration(shown, { file: 'node.yaml' })
    if (parsed.ok) throw new Error('the mask was taken for a secret')
    expect(parsed.error).toContainEqual(
      expect.objectContaining({
        code: 'masked_secret',
        hint: expect.stringContaining('--show-secrets') as unknown,
      }),
    )
  })

  it('is refused at the very place, also where the form would allow it', () => {
    const parsed = parseNodeConfiguration(`${HEAD}trust:\n  username: join\n  password: "[secret]"\n`, {
      file: 'node.yaml',
    })
    if (parsed.ok) throw new Error('the mask was taken for a secret')
    expect(parsed.error).toContainEqual(
      expect.objectContaining({ code: 'masked_secret', path: 'trust.password', line: 5 }),
    )
  })
})
