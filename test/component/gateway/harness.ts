/** The gateway as a process, in front of a stand-in core, with an authority of its own. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agentServices } from '#api'
import type { Endpoint } from '#kit/endpoint'
import { connect, type Client, type RpcFault } from '#rpc'
import {
  identityText,
  makeAuthority,
  makeClient,
  makeServer,
  type TestAuthority,
  type TestPair,
} from '../../support/certificates.ts'
import { startDaemon, type Daemon } from '../../support/processes.ts'
import { eventually } from '../../support/wait.ts'
import { startStandInCore, type StandInCore } from './stand-in-core.ts'

export type Fixture = AsyncDisposable & {
  readonly directory: string
  readonly authority: TestAuthority
  readonly admin: TestPair
  readonly daemon: Daemon
  readonly core: StandInCore
  readonly socket: string
  readonly endpoint: Endpoint
  /** A client with the admin's certificate, or another one. */
  dial(pair?: TestPair | object): Client<typeof agentServices>
  /** Replaces the identity file, as core does. */
  writeIdentity(text: string): void
}

export async function startFixture(
  flags: readonly string[] = [],
  options: { readonly listen?: string; readonly execArgv?: readonly string[] } = {},
): Promise<Fixture> {
  const directory = mkdtempSync(join(tmpdir(), 'stele-gateway-'))
  const authority = await makeAuthority()
  const admin = await makeClient(authority)
  const authorities = [authority.bundle.certificatePem]
  const socket = join(directory, 'gateway.sock')
  const core = await startStandInCore(socket, authorities)
  const file = join(directory, 'run', 'identity.json')
  const writeIdentity = (text: string) => {
    mkdirSync(join(directory, 'run'), { recursive: true })
    writeFileSync(`${file}.new`, text, { mode: 0o600 })
    renameSync(`${file}.new`, file)
  }
  writeIdentity(identityText(await makeServer(authority), authorities))
  const daemon = startDaemon(
    'gateway',
    ['--listen', options.listen ?? '127.0.0.1:0', '--core', socket, '--identity', file, ...flags],
    options,
  )
  await daemon.ready
  const endpoint = await eventually(() => endpointOf(daemon))
  return {
    directory,
    authority,
    admin,
    daemon,
    core,
    socket,
    endpoint,
    dial: (pair = admin) => connect(agentServices, { endpoint, tls: { authorities, ...pair } }),
    writeIdentity,
    [Symbol.asyncDispose]: async () => {
      await daemon.stop('SIGKILL')
      await core[Symbol.asyncDispose]()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

export function endpointOf(daemon: Daemon): Endpoint | undefined {
  const line = daemon.lines().find((one) => String(one['message']).endsWith(' listens'))
  const [endpoint] = (line?.['endpoints'] as readonly Endpoint[] | undefined) ?? []
  return endpoint
}

/** The fault that a call ends with; fails when it does not end with one. */
export async function faultOf(call: Promise<unknown>): Promise<RpcFault> {
  const error = await call.then(
    () => new Error('the call was answered'),
    (reason: unknown) => reason,
  )
  if (error instanceof Error && 'status' in error) return error as RpcFault
  throw error
}

export const soon = () => ({ signal: AbortSignal.timeout(15_000) })
