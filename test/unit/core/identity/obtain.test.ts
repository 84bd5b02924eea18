import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../../agent/kit/clock.ts'
import { RpcFault } from '../../../../agent/rpc/index.ts'
import { generateKey, loadPrivateKey } from '../../../../pki/index.ts'
import { CoreFault } from '../../../../agent/core/fault.ts'
import { classify, obtainCertificate } from '../../../../agent/core/identity/obtain.ts'
import type { NodeView } from '../../../../agent/core/node-view.ts'
import { Secret } from '../../../../agent/kit/secret.ts'

describe('classify', () => {
  it.each([
    [new RpcFault('unavailable', 'node_unreachable', ''), 'identity_unreachable'],
    [new RpcFault('deadline_exceeded', 'deadline_exceeded', ''), 'identity_unreachable'],
    [new RpcFault('resource_exhausted', 'throttled', ''), 'identity_unreachable'],
    [new RpcFault('unauthenticated', 'join_refused', ''), 'identity_refused'],
    [new RpcFault('invalid_argument', 'csr_signature', ''), 'identity_refused'],
    [new RpcFault('unavailable', 'certificate_refused', ''), 'identity_refused'],
    [new RpcFault('unauthenticated', 'node_certificate_untrusted', ''), 'identity_refused'],
    [new CoreFault('identity_refused', ''), 'identity_refused'],
    [new Error('anything'), 'identity_refused'],
  ])('takes %j for %s: a refused certificate is never an unreachable node (BR-055)', (error, code) => {
    expect(classify(error).code).toBe(code)
  })
})

const view: NodeView = {
  name: 'w-1',
  role: 'worker',
  authorities: [],
  authorityKey: undefined,
  trustEndpoints: [{ host: '127.0.0.1', port: 9 }],
  joinCredential: { username: 'u', password: new Secret('p') },
  extraNames: [],
  extraAddresses: [],
  reservedNames: [],
  reservedAddresses: [],
  host: { hostname: 'w-1', sysctls: {} },
  files: [],
}

describe('obtainCertificate', () => {
  it.each([
    ['no authority (BR-042)', { authorities: [] }],
    ['no control plane', { authorities: ['pem'], trustEndpoints: [] }],
    ['no join credential', { authorities: ['pem'], joinCredential: undefined }],
  ])('refuses before it dials when the configuration names %s', async (_what, more: Partial<NodeView>) => {
    const made = await generateKey()
    const loaded = loadPrivateKey(made.privateKeyPem)
    if (!loaded.ok) throw loaded.error
    const key = { privateKeyPem: made.privateKeyPem, privateKey: loaded.value }
    const signal = new AbortController().signal
    const asked = obtainCertificate({
      view: { ...view, ...more },
      key,
      addresses: ['127.0.0.1'],
      clock: systemClock,
      signal,
      present: undefined,
    })
    await expect(asked).rejects.toMatchObject({ code: 'identity_refused' })
  })
})
