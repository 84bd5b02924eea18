import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { trustServices } from '#api'
import { connect, RpcFault } from '#rpc'
import { ownSubnet, raiseDemoCluster, type DemoCluster } from '../../support/demo-cluster.ts'

const signal = () => AbortSignal.timeout(60_000)
const OWN = `${ownSubnet()}.50`
const CLEAN = `${ownSubnet()}.51`

type Asked = {
  readonly name?: string
  readonly sans?: readonly string[]
  readonly extra?: readonly string[]
  readonly subject?: string
  readonly key?: readonly string[]
}

/** A request as OpenSSL makes it: nothing of ours keeps it from asking for what it should not. */
function request(folder: string, asked: Asked): string {
  const {
    name = 'worker-9',
    sans = [`DNS:worker-9`, `IP:${OWN}`],
    extra = [],
    subject = `/CN=${name}`,
  } = asked
  const key = join(folder, 'key.pem')
  const config = join(folder, 'req.cnf')
  const extensions = [`subjectAltName=${sans.join(',')}`, ...extra]
  writeFileSync(
    config,
    `[req]\ndistinguished_name=dn\nreq_extensions=ext\nprompt=no\n[dn]\n[ext]\n${extensions.join('\n')}\n`,
  )
  execFileSync(
    'openssl',
    ['genpkey', ...(asked.key ?? ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256']), '-out', key],
    { stdio: 'ignore' },
  )
  return execFileSync('openssl', ['req', '-new', '-key', key, '-config', config, '-subj', subject], {
    encoding: 'utf8',
  })
}

function flipped(pem: string): string {
  const body = pem.replace(/-----[A-Z ]+-----|\s/g, '')
  const der = Buffer.from(body, 'base64')
  const at = der.length - 20
  der.writeUInt8(der.readUInt8(at) ^ 1, at)
  return `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64').replace(/(.{64})/g, '$1\n')}\n-----END CERTIFICATE REQUEST-----\n`
}

describe('the trust of a running control plane', () => {
  let demo: DemoCluster
  let folder: string

  beforeAll(async () => {
    demo = await raiseDemoCluster()
    folder = mkdtempSync(join(tmpdir(), 'stele-trust-'))
  }, 120_000)

  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true })
    await demo[Symbol.asyncDispose]()
  })

  function dial(localAddress: string) {
    const { place } = demo.controlPlane
    const endpoint = { host: place.address, port: place.trustPort }
    return connect(trustServices, {
      endpoint,
      tls: { authorities: [demo.cluster.secrets.nodeCa.certificatePem] },
      localAddress,
    })
  }

  async function sign(from: string, csr: string, password = demo.cluster.secrets.joinCredential.password) {
    await using client = dial(from)
    const { username } = demo.cluster.secrets.joinCredential
    return await client.trust.sign({ username, password, csr }, { signal: signal() })
  }

  const isBad = (where: string, asked: () => Asked | string, code: RegExp) => ({ where, asked, code })
  const worker = () => demo.worker.place.address

  it.each([
    isBad(
      'another node’s address',
      () => ({ sans: ['DNS:worker-9', `IP:${OWN}`, `IP:${worker()}`] }),
      /^csr_address_/,
    ),
    isBad(
      'the control plane’s address',
      () => ({ sans: ['DNS:worker-9', `IP:${OWN}`, `IP:${demo.controlPlane.place.address}`] }),
      /^csr_address_/,
    ),
    isBad(
      'another node’s address as mapped IPv6',
      () => ({ sans: ['DNS:worker-9', `IP:${OWN}`, `IP:::ffff:${worker()}`] }),
      /^csr_address_/,
    ),
    isBad(
      'another node’s name',
      () => ({ name: 'worker-1', sans: ['DNS:worker-1', `IP:${OWN}`] }),
      /^csr_name_/,
    ),
    isBad(
      'the control plane’s name',
      () => ({ name: 'cp-1', sans: ['DNS:cp-1', `IP:${OWN}`] }),
      /^csr_name_/,
    ),
    isBad(
      'a name beside its own',
      () => ({ sans: ['DNS:worker-9', 'DNS:other.example.test', `IP:${OWN}`] }),
      /^csr_name/,
    ),
    isBad('a wildcard', () => ({ sans: ['DNS:*.example.test', `IP:${OWN}`] }), /^csr_/),
    isBad('0.0.0.0', () => ({ sans: ['DNS:worker-9', `IP:${OWN}`, 'IP:0.0.0.0'] }), /^csr_address_/),
    isBad('an organization', () => ({ subject: '/O=stele:admin/CN=worker-9' }), /^csr_organization/),
    isBad('CA:TRUE', () => ({ extra: ['basicConstraints=critical,CA:TRUE'] }), /^csr_ca/),
    isBad('client usage', () => ({ extra: ['extendedKeyUsage=clientAuth'] }), /^csr_/),
    isBad(
      'a key of RSA-1024',
      () => ({ key: ['-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:1024'] }),
      /^key_/,
    ),
    isBad('a flipped byte', () => flipped(request(folder, {})), /^csr_/),
    isBad('two requests in one PEM', () => request(folder, {}) + request(folder, {}), /^csr_|^pem_/),
    isBad(
      '100 KB of PEM',
      () =>
        `-----BEGIN CERTIFICATE REQUEST-----\n${'A'.repeat(100_000)}\n-----END CERTIFICATE REQUEST-----\n`,
      /^csr_too_large/,
    ),
  ])('refuses $where, and says which rule', async ({ asked, code }) => {
    const what = asked()
    const refused = await sign(OWN, typeof what === 'string' ? what : request(folder, what)).catch(
      (error: unknown) => error,
    )
    expect(refused).toBeInstanceOf(RpcFault)
    expect(refused).toMatchObject({
      status: 'invalid_argument',
      code: expect.stringMatching(code) as unknown,
    })
    expect((refused as RpcFault).message).not.toMatch(/\/[a-z]+\/[a-z]+|at .*:\d+|node_modules/)
  })

  it('signs an honest request, for what was asked and nothing more, as OpenSSL confirms', async () => {
    const { certificate, authorities } = await sign(OWN, request(folder, {}))
    const [leaf, roots] = [join(folder, 'leaf.pem'), join(folder, 'roots.pem')]
    writeFileSync(leaf, certificate)
    writeFileSync(roots, authorities)
    execFileSync('openssl', [
      'verify',
      '-x509_strict',
      '-purpose',
      'sslserver',
      '-verify_ip',
      OWN,
      '-CAfile',
      roots,
      leaf,
    ])
    const text = execFileSync('openssl', ['x509', '-in', leaf, '-noout', '-text'], { encoding: 'utf8' })
    expect(text).toContain('TLS Web Server Authentication')
    expect(text).not.toContain('TLS Web Client Authentication')
  })

  it(
    'slows and logs 1,000 wrong passwords, and still signs for a right one from another address',
    { timeout: 120_000 },
    async () => {
      const { username } = demo.cluster.secrets.joinCredential
      await using client = dial(`${ownSubnet()}.60`)
      const csr = request(folder, { name: 'worker-8', sans: ['DNS:worker-8', `IP:${CLEAN}`] })
      const codes = new Map<string, number>()
      for (let round = 0; round < 20; round += 1) {
        const tries = Array.from({ length: 50 }, (_, index) =>
          client.trust.sign(
            { username, password: `wrong-${round}-${index}`, csr },
            { signal: signal(), deadlineMs: 30_000 },
          ),
        )
        for (const outcome of await Promise.allSettled(tries)) {
          const code = outcome.status === 'rejected' ? (outcome.reason as RpcFault).code : 'signed'
          codes.set(code, (codes.get(code) ?? 0) + 1)
        }
      }
      expect(codes.get('signed')).toBeUndefined()
      expect(codes.get('join_refused') ?? 0).toBeLessThan(50)
      expect([...codes.values()].reduce((sum, count) => sum + count, 0)).toBe(1_000)
      expect((await sign(CLEAN, csr)).certificate).toContain('BEGIN CERTIFICATE')
      const logs = ['trust', 'core']
        .map((name) => readFileSync(join(demo.controlPlane.place.directory, 'log', `${name}.log`), 'utf8'))
        .join('')
      expect(logs).toContain(username)
      expect(logs).not.toContain('wrong-0-0')
    },
  )
})
