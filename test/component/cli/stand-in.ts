/**
 * A node as the command line sees it: mutual TLS on a loopback port and the services of the API, answered from a little state. It checks roles as
 * core does, and reboots by closing every connection and coming back on the same port with a new boot id.
 */
import { randomUUID } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import * as grpc from '@grpc/grpc-js'
import {
  ConfigServiceService,
  CredentialServiceService,
  EventServiceService,
  LogServiceService,
  ServiceServiceService,
  SystemServiceService,
} from '#api'
import {
  appliedAnswer,
  commonName,
  coreService,
  denied,
  refusal,
  rolesOf,
  runningEvent,
  type Call,
} from './answer.ts'
import type { Pair, TestAuthority } from './authority.ts'

const MAY_REBOOT = ['stele:operator', 'stele:admin']

type Reply = (error: Partial<grpc.ServiceError> | null, value?: unknown) => void
type KeyedRequest = { readonly dryRun: boolean; readonly idempotencyKey: string }

export class StandIn implements AsyncDisposable {
  readonly name: string
  bootId: string = randomUUID()
  revision = 1n
  /** The process that runs core, as the service list shows it. */
  pid = 7
  /** False: a reboot is accepted and never comes to pass. */
  reboots = true
  /** Milliseconds since the epoch of the one event that it keeps. */
  eventAt = 0
  /** Names of the calls that came, in order. */
  readonly calls: string[] = []
  readonly keys: string[] = []
  readonly #arrivals = new EventEmitter()
  readonly #authority: string
  readonly #pair: Pair
  readonly #role: number
  #server = new grpc.Server()
  #port = 0
  #host: string
  readonly #watchers = new Set<grpc.ServerWritableStream<unknown, unknown>>()
  #restarting: Promise<void> = Promise.resolve()

  private constructor(options: { name: string; authority: string; pair: Pair; role: number; host: string }) {
    this.name = options.name
    this.#authority = options.authority
    this.#pair = options.pair
    this.#role = options.role
    this.#host = options.host
  }

  static async start(
    name: string,
    authority: TestAuthority,
    options: { role?: 1 | 2; host?: string; pair?: Pair } = {},
  ): Promise<StandIn> {
    const host = options.host ?? '127.0.0.1'
    const pair = options.pair ?? (await authority.node(name, [host]))
    const made = new StandIn({ name, authority: authority.certificate, pair, role: options.role ?? 2, host })
    await made.#listen()
    return made
  }

  get endpoint(): string {
    return this.#host.includes(':') ? `[${this.#host}]:${this.#port}` : `${this.#host}:${this.#port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#restarting
    this.#server.forceShutdown()
  }

  async #listen(): Promise<void> {
    this.#server = new grpc.Server({ 'grpc.enable_channelz': 0 })
    this.#addServices(this.#server)
    const credentials = grpc.ServerCredentials.createSsl(
      Buffer.from(this.#authority),
      [{ private_key: Buffer.from(this.#pair.privateKey), cert_chain: Buffer.from(this.#pair.certificate) }],
      true,
    )
    this.#port = await new Promise((resolve, reject) => {
      this.#server.bindAsync(this.endpoint, credentials, (error, port) =>
        error ? reject(error) : resolve(port),
      )
    })
  }

  #reboot(): void {
    const end = new Promise<void>((resolve) => setImmediate(resolve))
    this.#restarting = end.then(async () => {
      this.#drain()
      this.#server.forceShutdown()
      this.bootId = randomUUID()
      await this.#listen()
    })
  }

  /** Resolves at the next call of this name. */
  async called(name: string): Promise<void> {
    await once(this.#arrivals, name)
  }

  /** Goes away without a word; `comeBack` ends the outage. */
  goAway(): void {
    this.#drain()
    this.#server.forceShutdown()
  }

  async comeBack(): Promise<void> {
    await this.#listen()
  }

  /** Streams end by UNAVAILABLE, as those of a gateway that stops. */
  #drain(): void {
    for (const call of this.#watchers) {
      call.emit('error', refusal(grpc.status.UNAVAILABLE, 'the node is stopping', 'stopping', 'try again'))
    }
    this.#watchers.clear()
  }

  #addServices(server: grpc.Server): void {
    this.#add(
      server,
      SystemServiceService,
      {
        version: () => ({
          version: '0.1.0',
          runtime: 'v24',
          api: 'stele.agent.v1',
          node: this.name,
          bootId: this.bootId,
          platform: 'local',
        }),
        whoAmI: (call) => ({
          commonName: commonName(call),
          roles: rolesOf(call),
          unknownRoles: [],
          serial: 'ab12',
          notAfter: undefined,
          address: '127.0.0.1',
          methods: [],
        }),
        getStatus: () => ({ status: this.#status() }),
        reboot: (call: Call<KeyedRequest>) => {
          if (!rolesOf(call).some((role) => MAY_REBOOT.includes(role))) throw denied(call)
          if (!call.request.dryRun && this.reboots) this.#reboot()
          return {
            bootId: this.bootId,
            steps: ['stop gateway', 'stop core'],
            repeated: false,
            operationId: 'op-1',
          }
        },
      },
      {
        watchStatus: (call: grpc.ServerWritableStream<unknown, unknown>) => {
          this.#watchers.add(call)
          call.write({ status: this.#status() })
        },
      },
    )
    this.#add(server, ServiceServiceService, {
      list: () => ({
        services: [coreService(this.pid)],
      }),
      restart: (call: Call<KeyedRequest>) => {
        if (this.keys.filter((key) => key === call.request.idempotencyKey).length === 1) {
          throw refusal(grpc.status.UNAVAILABLE, 'core is restarting', 'core_away', 'try again')
        }
        const service = coreService(this.pid)
        this.pid += 1
        return { service, repeated: false, operationId: 'op-2' }
      },
    })
    this.#add(server, ConfigServiceService, {
      apply: (call: Call<{ expectedRevision: bigint; dryRun: boolean; mode: number }>) => {
        if (call.request.expectedRevision !== this.revision) {
          throw refusal(
            grpc.status.ABORTED,
            'another revision is in force',
            'revision_conflict',
            'read it again',
          )
        }
        const revision = this.revision + 1n
        if (!call.request.dryRun) this.revision = revision
        return appliedAnswer(revision, call.request.mode)
      },
      get: () => ({
        document: 'kind: NodeConfig\n',
        revision: this.revision,
        digest: 'sha256:00',
        appliedAt: undefined,
        appliedBy: 'user data',
      }),
    })
    this.#add(server, CredentialServiceService, {
      createJoinCredential: () => ({
        credential: {
          username: 'abc123',
          createdAt: new Date(),
          expiresAt: undefined,
          maxUses: 0,
          uses: 0,
          revokedAt: undefined,
          description: '',
          state: 'usable',
        },
        password: 'the-password',
      }),
    })
    server.addService(LogServiceService, {
      logs: (call: grpc.ServerWritableStream<{ follow: boolean; tailLines: number }, unknown>) =>
        this.#logs(call),
    })
    server.addService(EventServiceService, {
      watch: (call: grpc.ServerWritableStream<{ follow: boolean; afterSequence: bigint }, unknown>) => {
        const event = runningEvent(this.bootId, this.eventAt)
        if (call.request.afterSequence === 0n) call.write({ event, missed: 0n })
        if (call.request.follow) this.#watchers.add(call)
        else call.end()
      },
    })
  }

  #logs(call: grpc.ServerWritableStream<{ follow: boolean; tailLines: number }, unknown>): void {
    const more = (): void => {
      while (!call.cancelled && call.write({ lines: Buffer.from('one line\nand one\n'), dropped: 0n }));
    }
    if (call.request.tailLines === 1) {
      call.write({ lines: Buffer.from('last line\n'), dropped: 0n })
      if (call.request.follow) this.#watchers.add(call)
      else call.end()
      return
    }
    call.on('drain', more)
    more()
  }

  #add(
    server: grpc.Server,
    service: grpc.ServiceDefinition,
    handlers: Record<string, (call: Call<never>) => unknown>,
    streams: grpc.UntypedServiceImplementation = {},
  ): void {
    const wrapped = Object.entries(handlers).map(([name, handler]) => [
      name,
      (call: Call<never>, reply: Reply) => {
        this.calls.push(name)
        this.#arrivals.emit(name)
        const { idempotencyKey } = call.request as Partial<KeyedRequest>
        if (idempotencyKey !== undefined) this.keys.push(idempotencyKey)
        try {
          reply(null, handler(call))
        } catch (error) {
          reply(error as Partial<grpc.ServiceError>)
        }
      },
    ])
    const implementation = { ...Object.fromEntries(wrapped), ...streams } as grpc.UntypedServiceImplementation
    server.addService(service, implementation)
  }

  #status() {
    return {
      node: this.name,
      role: this.#role,
      state: 2,
      step: '',
      bootId: this.bootId,
      bootedAt: new Date(0),
      servicesRunning: 2,
      servicesTotal: 2,
      configRevision: this.revision,
      configDigest: 'sha256:00',
      stagedRevision: 0n,
      tryUntil: undefined,
      addresses: [this.#host],
      certificateNotAfter: undefined,
      certificateRenewAt: undefined,
      findings: [],
      machineId: '',
    }
  }
}
