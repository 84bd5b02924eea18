/** A node as processes: the real init and the real core, a stand-in for gateway and trust, and a client that speaks to core's sockets. */
import * as grpc from '@grpc/grpc-js'
import { fork, type ChildProcess } from 'node:child_process'
import { createHash, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { callInit, nodeDirectory, type NodeDirectory } from '../../../agent/init/index.ts'
import {
  createClusterSecrets,
  issueAdminCertificate,
  loadAuthority,
  type ClusterSecrets,
} from '../../../pki/index.ts'

const ROOT = join(import.meta.dirname, '../../..')
const STAND_IN = `process.send({kind:'ready'}); process.on('SIGTERM',()=>process.exit(0)); process.on('disconnect',()=>process.exit(0)); setInterval(()=>{},1000)`

export type Definition<Q, R> = {
  readonly path: string
  readonly requestSerialize: (value: Q) => Buffer
  readonly responseDeserialize: (bytes: Buffer) => R
}
export type Refusal = {
  readonly code: grpc.status
  readonly details: string
  readonly metadata: grpc.Metadata
}

export const stableCode = (error: unknown) => (error as Refusal).metadata.get('stele-code')[0]

let made: Promise<ClusterSecrets> | undefined
export const secrets = () => (made ??= createClusterSecrets({ now: new Date() }))

/** DER of a client certificate with these roles. */
export async function clientCertificate(roles: readonly string[], commonName = 'ada'): Promise<Buffer> {
  const { nodeCa } = await secrets()
  const authority = loadAuthority(nodeCa)
  if (!authority.ok) throw authority.error
  // Roles that are none are asked for on purpose.
  const issued = await issueAdminCertificate({
    authority: authority.value,
    commonName,
    roles: roles,
    now: new Date(),
  })
  return new X509Certificate(issued.certificatePem).raw
}

export const indent = (text: string, by = 4) =>
  text
    .trim()
    .split('\n')
    .map((line) => ' '.repeat(by) + line)
    .join('\n')

/** A small control plane's user data. */
export async function controlPlaneData(more = ''): Promise<string> {
  const { nodeCa, joinCredential } = await secrets()
  return `apiVersion: stele.dev/v1alpha1
kind: NodeConfig
hostname: cp-1
trust:
  username: ${JSON.stringify(joinCredential.username)}
  password: ${JSON.stringify(joinCredential.password)}
  ca: |
${indent(nodeCa.certificatePem)}
  caKey: |
${indent(nodeCa.privateKeyPem)}
${more}`
}

export class TestNode implements AsyncDisposable {
  readonly directory = mkdtempSync(join(tmpdir(), 'stele-core-'))
  readonly paths: NodeDirectory = nodeDirectory(this.directory)
  readonly userData = join(this.directory, 'user-data')
  #init: ChildProcess | undefined
  #channels: grpc.Client[] = []

  static async start(
    userData: string,
    options: { readonly address?: string; readonly name?: string } = {},
  ): Promise<TestNode> {
    const node = new TestNode()
    writeFileSync(node.userData, userData)
    const standIn = ['node', '-e', STAND_IN, '--']
    writeFileSync(
      join(node.directory, 'node.json'),
      JSON.stringify({
        version: 1,
        name: options.name ?? 'cp-1',
        addresses: [options.address ?? '127.0.0.1'],
        gatewayPort: 50000,
        trustPort: 50001,
        userData: [node.userData],
        programs: { core: ['node', join(ROOT, 'agent/core/main.ts')], gateway: standIn, trust: standIn },
      }),
    )
    await node.startInit()
    return node
  }

  async startInit(): Promise<void> {
    const init = fork(join(ROOT, 'agent/init/main.ts'), ['--node', join(this.directory, 'node.json')], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      // Starting from sources is most of the time of these tests.
      env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: join(ROOT, '.cache/compile') },
    })
    this.#init = init
    await once(init, 'message')
    await this.coreUp()
  }

  ask(command: Parameters<typeof callInit>[1]) {
    return callInit(this.paths.initSocket, command, { signal: AbortSignal.timeout(5_000) })
  }

  /** Returns the process id of a core that is ready and is not `not`. */
  async coreUp(not = 0): Promise<number> {
    return eventually(
      async () => {
        const core = (await this.ask({ command: 'list' })).services?.find(
          (service) => service.name === 'core',
        )
        return core?.state === 'running' && core.pid !== not ? core.pid : undefined
      },
      () => this.log('core'),
    )
  }

  log(name: string): string {
    try {
      return readFileSync(join(this.directory, 'log', `${name}.log`), 'utf8')
    } catch {
      return ''
    }
  }

  audit(): readonly Record<string, unknown>[] {
    return readFileSync(join(this.directory, 'state/log/audit.log'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  }

  /** One unary call on a connection of its own; headers as the gateway would set them. */
  async call<Q, R>(
    method: Definition<Q, R>,
    request: Q,
    certificate: Buffer | undefined,
    options: { readonly socket?: string; readonly headers?: Readonly<Record<string, string>> } = {},
  ): Promise<R> {
    const client = this.#client(options.socket ?? this.paths.coreGatewaySocket)
    const { promise, callback } = settled<R>()
    client.makeUnaryRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      request,
      metadataOf(certificate, options.headers),
      { deadline: Date.now() + 10_000 },
      callback,
    )
    try {
      return await promise
    } finally {
      client.close()
    }
  }

  /** A server stream; the caller cancels it. */
  stream<Q, R>(method: Definition<Q, R>, request: Q, certificate: Buffer): grpc.ClientReadableStream<R> {
    const client = this.#client(this.paths.coreGatewaySocket)
    return client.makeServerStreamRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      request,
      metadataOf(certificate),
    )
  }

  #client(socket: string): grpc.Client {
    const client = new grpc.Client(`unix:${socket}`, grpc.credentials.createInsecure(), {
      'grpc.enable_channelz': 0,
    })
    this.#channels.push(client)
    return client
  }

  async kill(): Promise<void> {
    const init = this.#init
    this.#init = undefined
    if (init === undefined || init.exitCode !== null || init.signalCode !== null) return
    const over = once(init, 'exit')
    init.kill('SIGTERM')
    await over
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const channel of this.#channels) channel.close()
    await this.kill()
    rmSync(this.directory, { recursive: true, force: true })
  }
}

function settled<R>(): {
  promise: Promise<R>
  callback: (error: grpc.ServiceError | null, value?: R) => void
} {
  let callback: (error: grpc.ServiceError | null, value?: R) => void = () => undefined
  const promise = new Promise<R>((resolve, reject) => {
    callback = (error, value) => (error === null ? resolve(value as R) : reject(error))
  })
  return { promise, callback }
}

function metadataOf(
  certificate: Buffer | undefined,
  headers: Readonly<Record<string, string>> = {},
): grpc.Metadata {
  const metadata = new grpc.Metadata()
  metadata.set('stele-peer-address', '127.0.0.9')
  if (certificate !== undefined) metadata.set('stele-peer-certificate-bin', certificate)
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value)
  return metadata
}

/** Asks again until there is an answer; gives up after 15 seconds with what `explain` says. */
export async function eventually<T>(
  ask: () => Promise<T | undefined>,
  explain: () => string = () => '',
): Promise<T> {
  const until = Date.now() + 15_000
  for (;;) {
    const value = await ask().catch(() => undefined)
    if (value !== undefined) return value
    if (Date.now() > until) throw new Error(`waited in vain\n${explain()}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

export const sha256 = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`
