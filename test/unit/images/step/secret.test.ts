import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { secretsIn } from '../../../../images/step/secret.ts'

const { privateKey, publicKey } = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
})

describe('the scan for secrets', () => {
  it('finds a private key, anywhere in a file', () => {
    expect(secretsIn('a', `\0\0binary${privateKey}more`)).toEqual([{ path: 'a', kind: 'a private key' }])
  })

  it('finds no secret in a public key, nor in a program that knows the words', () => {
    expect(secretsIn('a', publicKey)).toEqual([])
    expect(secretsIn('a', '-----BEGIN PRIVATE KEY-----\0-----END PRIVATE KEY-----')).toEqual([])
  })

  it.each([
    ['a bootstrap token', 'token: abcdef.0123456789abcdef'],
    ['a service token', `ghp_${'a'.repeat(36)}`],
    ['a web token', `eyJ${'a'.repeat(30)}.eyJ${'b'.repeat(30)}.${'c'.repeat(30)}`],
  ])('finds %s', (kind, text) => {
    expect(secretsIn('a', text)).toEqual([{ path: 'a', kind }])
  })

  it('finds a password, and the lack of one, in the files of users alone', () => {
    const hash = 'root:$y$j9T$abc$def:1::::::'
    expect(secretsIn('etc/shadow', hash)).toEqual([{ path: 'etc/shadow', kind: 'a password' }])
    expect(secretsIn('etc/passwd', 'root::0:0::/root:/bin/x')).toEqual([
      { path: 'etc/passwd', kind: 'a password' },
    ])
    expect(secretsIn('etc/passwd', 'root:x:0:0::/root:/bin/x\nb:*:1:1::/:/x')).toEqual([])
    expect(secretsIn('etc/shadow', 'root:!*:1::::::')).toEqual([])
    expect(secretsIn('usr/other', hash)).toEqual([])
  })
})
