import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openSigningKeys } from '../../../images/signing-keys.ts'

let made: string
beforeAll(() => {
  made = mkdtempSync(join(tmpdir(), 'images-keys-made-'))
  for (const [name, algorithm] of [
    ['one', 'rsa:2048'],
    ['two', 'rsa:2048'],
    ['ec', 'ec:P-256'],
  ] as const) {
    const [kind, size] = algorithm.split(':')
    const key = kind === 'ec' ? ['ec', '-pkeyopt', `ec_paramgen_curve:${size}`] : [algorithm]
    execFileSync(
      'openssl',
      ['req', '-x509', '-newkey', ...key, '-noenc', '-subj', `/CN=${name}`].concat([
        '-keyout',
        join(made, `${name}.key`),
        '-out',
        join(made, `${name}.crt`),
      ]),
      { stdio: 'ignore' },
    )
  }
  execFileSync('openssl', [
    ...['pkey', '-in', join(made, 'one.key'), '-aes256', '-passout', 'pass:secret'],
    ...['-out', join(made, 'locked.key')],
  ])
  return () => rmSync(made, { recursive: true })
})

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'images-keys-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function put(key: string, certificate: string): void {
  copyFileSync(join(made, key), join(folder, 'db.key'))
  chmodSync(join(folder, 'db.key'), 0o600)
  copyFileSync(join(made, certificate), join(folder, 'db.crt'))
}
const refusal = (code: string, message: RegExp): unknown =>
  expect.objectContaining({ code, message: expect.stringMatching(message) as string })

describe('the keys that sign an image', () => {
  it('are opened where links lead, as a mounted secret has them', () => {
    put('one.key', 'one.crt')
    const links = join(folder, 'links')
    mkdirSync(links)
    for (const name of ['db.key', 'db.crt']) symlinkSync(`../${name}`, join(links, name))
    const direct = openSigningKeys(folder)
    expect(direct).toEqual({
      key: join(folder, 'db.key'),
      certificate: join(folder, 'db.crt'),
      signer: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    })
    expect(openSigningKeys(links)).toEqual(direct)
  })

  it.each([
    ['two.key', 'one.crt', /db\.key is not the key of db\.crt \(CN=one\)/],
    ['locked.key', 'one.crt', /db\.key is encrypted/],
    ['one.crt', 'one.crt', /db\.key is no private key/],
    ['ec.key', 'ec.crt', /db\.key is a key of ec, not of RSA/],
    ['one.key', 'one.key', /db\.crt is no certificate/],
  ])('%s with %s is refused', (key, certificate, message) => {
    put(key, certificate)
    expect(() => openSigningKeys(folder)).toThrow(refusal('refused', message))
  })

  it('are refused when others may read the key', () => {
    put('one.key', 'one.crt')
    chmodSync(join(folder, 'db.key'), 0o640)
    expect(() => openSigningKeys(folder)).toThrow(refusal('refused', /others than its owner/))
  })

  it('are refused when the key is no plain file', () => {
    put('one.key', 'one.crt')
    rmSync(join(folder, 'db.key'))
    mkdirSync(join(folder, 'db.key'), { mode: 0o700 })
    expect(() => openSigningKeys(folder)).toThrow(refusal('refused', /db\.key cannot be used/))
  })

  it('say which file is missing', () => {
    expect(() => openSigningKeys(folder)).toThrow(refusal('input_missing', /has no db\.key/))
    writeFileSync(join(folder, 'db.key'), '')
    expect(() => openSigningKeys(folder)).toThrow(refusal('input_missing', /has no db\.crt/))
  })
})
