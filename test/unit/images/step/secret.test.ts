import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { isBinaryKey } from '../../../../images/step/secret-key.ts'
import { SECRET_KINDS } from '../../../../images/step/secret-kind.ts'
import { secretsIn } from '../../../../images/step/secret.ts'

const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const pem = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
const publicPem = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString()
const body = pem.split('\n').slice(1, -2).join('')
const [begin, end] = ['BEGIN', 'END'].map((word) => `-----${word} PRIVATE KEY-----`)
const der = (type: 'pkcs8' | 'sec1') => pair.privateKey.export({ type, format: 'der' })
const encrypted = pair.privateKey.export({
  type: 'pkcs8',
  format: 'der',
  cipher: 'aes-256-cbc',
  passphrase: 'x',
})
const pfx = Buffer.concat([
  Buffer.from('308204000201033082', 'hex'),
  Buffer.from('03d006092a864886f70d010701', 'hex'),
  Buffer.alloc(64),
])

/** `count` characters that look drawn: no run of one, since a placeholder is one. */
const drawn = (count: number) => 'aB3dE5gH7jK9mN1pQ2sT4vW6yZ8'.repeat(8).slice(0, count)
const upper = (count: number) => drawn(count).toUpperCase()
const base64 = (text: string | Buffer) => Buffer.from(text).toString('base64')
const folded = (text: string, width: number, by = '\n') =>
  text.replaceAll(new RegExp(`.{${width}}`, 'g'), `$&${by}`)
const bytes = (buffer: Buffer) => buffer.toString('latin1')
const id = `AKIA${upper(16)}`
const bootstrap = ['abcdef', '0123456789abcdef'].join('.')

const KEYS: Readonly<Record<string, string>> = {
  'PEM in a program': `\0\0binary${pem}more`,
  'PEM with short lines': `${begin}\n${folded(body, 16)}\n${end}`,
  'PEM with CR alone': pem.replaceAll('\n', '\r'),
  'PEM with a blank behind its first line': pem.replace('\n', ' \n'),
  'PEM with blanks before each line': pem.replaceAll('\n', '\n    '),
  'PEM with headers': `${begin}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n${body}\n${end}`,
  'PEM in one line': `${begin}${body}${end}`,
  'PEM in JSON': JSON.stringify({ key: pem }),
  'PEM in JSON in JSON': JSON.stringify(JSON.stringify({ key: pem })),
  'PEM in UTF-16, low byte first': bytes(Buffer.from(`\ufeff${pem}`, 'utf16le')),
  'PEM in UTF-16, high byte first': bytes(Buffer.from(`\ufeff${pem}`, 'utf16le').swap16()),
  'PEM in base64': `users:\n- user:\n    client-key-data: ${base64(pem)}\n`,
  'PEM in folded base64': `client-key-data: |\n  ${folded(base64(pem), 64, '\n  ')}\n`,
  'DER in base64': `key: ${base64(der('pkcs8'))}\n`,
  'DER of PKCS#8': bytes(der('pkcs8')),
  'DER of PKCS#8, encrypted': bytes(encrypted),
  'DER of SEC 1': bytes(der('sec1')),
  'PKCS#12': bytes(pfx),
  SSH2: `---- BEGIN SSH2 ENCRYPTED ${'PRIVATE'} KEY ----\nComment: "x"\n${folded(body, 70)}`,
  PuTTY: `PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPublic-Lines: 1\nAAAA\nPrivate-Lines: 1\n${drawn(44)}\n`,
  JWK: JSON.stringify(pair.privateKey.export({ format: 'jwk' })),
  WireGuard: `[Interface]\nPrivateKey = ${drawn(43)}=\n`,
}

const OTHERS: readonly (readonly [kind: string, text: string, path?: string])[] = [
  ['an age key', `AGE-SECRET-KEY-1${upper(58)}`],
  ['a bootstrap token', `token: ${bootstrap}`],
  ['a bootstrap token', JSON.stringify({ token: bootstrap })],
  ['a bootstrap token', `kubeadm join 192.0.2.1:6443 --token ${bootstrap} --x`],
  ['a bootstrap token', `${bootstrap}\n`],
  ['a cloud access key', `${id}\nsecret ${drawn(40)}\n`],
  ['a cloud access key', `secret ${drawn(40)}\nid ${id}\n`],
  ['a cloud access key', `aws_secret_access_key = ${drawn(40)}\n`],
  ['a cloud access key', `AccountName=x;AccountKey=${drawn(86)}==;`],
  ...[`ghp_${drawn(36)}`, `github_pat_${drawn(22)}_${drawn(59)}`, `glpat-${drawn(20)}`, `npm_${drawn(36)}`]
    .concat([`xoxb-${drawn(24)}`, `xapp-1-${upper(11)}-${drawn(30)}`, `AIza${drawn(35)}`, `hvs.${drawn(24)}`])
    .concat([`sk_live_${drawn(24)}`, `sk-ant-api03-${drawn(40)}`, `dckr_pat_${drawn(27)}`])
    .map((token) => ['a service token', `x = "${token}"`] as const),
  ['a service token', `//registry.example/:_authToken=${drawn(20)}`],
  ['a web token', `eyJ${drawn(30)}.eyJ${drawn(30)}.${drawn(30)}`],
  ['a registry password', JSON.stringify({ auths: { 'r.example': { auth: base64('me:s3cr3t') } } })],
  ['a hash of a password', `x$6$${drawn(8)}$${drawn(86)}:1`],
  ['a hash of a password', `user:$apr1$${drawn(8)}$${drawn(22)}`],
  ['a hash of a password', `x: $y$j9T$${drawn(22)}$${drawn(43)}`],
  ['a hash of a password', `user:$2y$05$${drawn(53)}`],
  ['a hash of a password', `$argon2id$v=19$m=65536,t=3,p=4$${drawn(22)}$${drawn(43)}`],
  ['a hash of a password', `user:{SHA}${drawn(27)}=\n`],
  ['a hash of a password', `user:${drawn(13)}\n`, 'etc/htpasswd'],
  ['a password', 'machine h.example login me password s3cr3t', 'root/.netrc'],
  ['a password', 'db.example:5432:stele:me:s3cr3t\n'],
  ['a password', 'db.example:6000:stele:me:s3cr3t\n', 'root/.pgpass'],
  ['a password', `proxy=http://me:${drawn(9)}@proxy.example:3128/`],
  ['a password', 'users:\n  - name: me\n    password: s3cr3t-w0rd\n'],
  ['a password', '{\n  "db_password": "s3cr3t-w0rd",\n}'],
  ['a password', 'root:$y$j9T$abc$def:1::::::', 'etc/shadow'],
  ['a password', 'root:xbJnggxhByWIs:1::::::', 'etc/shadow'],
  ['a password', 'root:!abJnggxhB/yWI:1::::::', 'etc/shadow-'],
  ['a password', 'root::0:0::/root:/bin/x', 'etc/passwd'],
]

describe('the scan for secrets', () => {
  it.each(Object.entries(KEYS))('finds a private key: %s', (_, text) => {
    expect(secretsIn('a', text)).toEqual([{ path: 'a', kind: 'a private key' }])
  })

  it.each(OTHERS.map(([kind, text, path]) => ({ kind, text, path: path ?? 'etc/a' })))(
    'finds $kind in $text',
    ({ kind, text, path }) => {
      expect(secretsIn(path, text)).toEqual([{ path, kind }])
    },
  )

  it('has an example of every kind', () => {
    const texts = [...Object.values(KEYS), ...OTHERS.map(([, text]) => text)]
    const unseen = SECRET_KINDS.filter(({ pattern }) => !texts.some((text) => pattern.test(text)))
    expect(unseen).toEqual([])
  })

  it.each([
    ['a public key', publicPem],
    ['a public key in base64', `certificate-authority-data: ${base64(publicPem)}`],
    ['a public key in DER', bytes(pair.publicKey.export({ type: 'spki', format: 'der' }))],
    ['a public JWK', JSON.stringify(pair.publicKey.export({ format: 'jwk' }))],
    ['a program that knows the words', `${begin}\0${end}`],
    ['a program that writes a key', '`' + `${begin}\\n` + '${body}`'],
    ['a public key of WireGuard', `PublicKey = ${drawn(43)}=`],
    ['a member of a module', 'x = string.prototypelength0'],
    ['an identifier of a key alone', `${id}\n`],
    ['a template of a token', 'token: {{ .Token }}\ntoken=$TOKEN\n'],
    ['a setting of crypt', '$6$rounds=5000$\n$y$j9T$\n'],
    ['an address without a password', 'https://me@example.org/a:b http://[::1]:80/ ssh://git@h:22/'],
    ['an address of a manual', 'http://user:password@host/ and http://u:${PASS}@host/ and http://u:<pw>@h/'],
    ['a sentence on passwords', 'password: the word that you chose\nPassword: \n'],
    ['the sources of users', 'passwd: files systemd\nshadow: files\n'],
    ['a file that holds a password', 'password = /run/secret/db\npassword: ${DB}\n'],
    ['an empty registry login', JSON.stringify({ auth: base64('nothing!') })],
  ])('passes %s', (_, text) => {
    expect(secretsIn('etc/a', text)).toEqual([])
  })

  it('passes users that are locked or moved', () => {
    expect(secretsIn('etc/passwd', 'root:x:0:0::/root:/bin/x\nb:*:1:1::/:/x')).toEqual([])
    expect(secretsIn('etc/shadow', 'root:!*:1::::::\nb:!:1::::::\nc:!unprovisioned:1::::::')).toEqual([])
    expect(secretsIn('usr/other', 'root:$y$j9T$abc$def:1::::::')).toEqual([])
  })

  it('opens no binary larger than a key can be', () => {
    expect(isBinaryKey(bytes(Buffer.concat([pfx, Buffer.alloc(65_536)])))).toBe(false)
  })
})
