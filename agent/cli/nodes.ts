/** From the command line to open clients: which nodes are meant, and the way to each. */
import type { agentServices } from '#api'
import type { Client } from '#rpc'
import { formatEndpoint, parseEndpoint, type Endpoint } from '#kit/endpoint'
import { withDeadline } from '#kit/lifetime'
import { retry } from '#kit/retry'
import { chooseContext, loadContexts, type Context } from './context.ts'
import { explain } from './explain.ts'
import { isTransient } from './failure.ts'
import { CliFault } from './fault.ts'
import { DEFAULT_PORT } from './port.ts'
import type { Run } from './run.ts'

export type AgentClient = Client<typeof agentServices>
export type Target = {
  readonly name: string
  readonly endpoint: Endpoint
  readonly serverName?: string | undefined
}

export type Node = {
  readonly name: string
  /** host:port */
  readonly address: string
  readonly client: AgentClient
  /** A new connection, for waiting out a restart of the node. The caller closes it. */
  readonly connect: () => AgentClient
  /** A failed call's error, or a clearer one. */
  readonly explain: (error: unknown) => Promise<unknown>
}

/** The nodes that are meant, in the order of the context or of `--nodes`. */
export type Selection = {
  readonly nodes: readonly Node[]
  /** True when the person named the nodes, or the context has just one. */
  readonly isDeliberate: boolean
  readonly context: string
}

export const CALL_TIMEOUT_MS = 10_000

/** Opens the nodes of the run, calls `use`, and closes them whatever happens. */
export async function withNodes<T>(run: Run<unknown>, use: (selection: Selection) => Promise<T>): Promise<T> {
  const { name, context } = chooseContext(await loadContexts(run.shared.configPath), run.shared.context)
  const targets = selectTargets(context, run.shared.nodes)
  const { connect } = await import('#rpc')
  const { agentServices } = await import('#api')
  const base = credentials(context)
  const tlsOf = ({ serverName }: Target) => (serverName === undefined ? base : { ...base, serverName })
  const open = (target: Target): AgentClient =>
    connect(agentServices, { endpoint: target.endpoint, tls: tlsOf(target) })
  const nodes: Node[] = []
  try {
    for (const target of targets) {
      nodes.push({
        name: target.name,
        address: formatEndpoint(target.endpoint),
        client: open(target),
        connect: () => open(target),
        explain: (error) =>
          explain(error, { endpoint: target.endpoint, tls: tlsOf(target), signal: run.signal }),
      })
    }
    const isDeliberate = run.shared.nodes !== undefined || nodes.length === 1
    return await use({ nodes, isDeliberate, context: name })
  } finally {
    for (const node of nodes) node.client.close()
  }
}

/**
 * Pure: the context's nodes by name, or endpoints that no node of the context has. Throws CliFault `node_unknown` for what is neither, and when
 * the context has no nodes.
 */
export function selectTargets(context: Context, wanted: readonly string[] | undefined): readonly Target[] {
  const known = context.nodes.map(({ name, endpoint, serverName }) => ({
    name,
    endpoint: endpointOf(endpoint),
    ...(serverName === undefined ? {} : { serverName }),
  }))
  if (wanted === undefined && known.length === 0) {
    throw new CliFault('node_unknown', 'the context has no nodes', {
      hint: 'name one with --nodes host:port',
    })
  }
  if (wanted === undefined) return known
  return wanted.map((text) => known.find((node) => node.name === text) ?? ofEndpoint(text, known))
}

/** A read: tried again, a few times, when the way to the node broke. */
export function readCall<T>(
  run: Run<unknown>,
  call: (options: { signal: AbortSignal; deadlineMs: number }) => Promise<T>,
): Promise<T> {
  return attempts(run, call)
}

/** A change that carries an idempotency key, so that trying again never does it twice. */
export function keyedCall<T>(
  run: Run<unknown>,
  call: (options: { signal: AbortSignal; deadlineMs: number }, key: string) => Promise<T>,
): Promise<T> {
  const key = crypto.randomUUID()
  return attempts(run, (options) => call(options, key))
}

async function attempts<T>(
  run: Run<unknown>,
  call: (options: { signal: AbortSignal; deadlineMs: number }) => Promise<T>,
): Promise<T> {
  const deadlineMs = run.shared.timeoutMs ?? CALL_TIMEOUT_MS
  const signal = withDeadline(
    run.signal,
    deadlineMs,
    () =>
      new CliFault('wait_deadline', 'the node did not answer in time', {
        hint: 'wait longer with --timeout',
      }),
  )
  try {
    return await retry(() => call({ signal, deadlineMs }), {
      attempts: 3,
      firstDelayMs: 200,
      maxDelayMs: 1000,
      clock: run.clock,
      signal,
      isRetryable: isTransient,
    })
  } finally {
    signal.dispose()
  }
}

function ofEndpoint(text: string, known: readonly Target[]): Target {
  const parsed = parseEndpoint(text, { defaultPort: DEFAULT_PORT })
  const looksLikeName = /^[A-Za-z0-9-]+$/.test(text)
  if (looksLikeName || !parsed.ok) {
    const names = known.map((node) => node.name).join(', ')
    throw new CliFault(
      'node_unknown',
      `${JSON.stringify(text)} is neither a node of the context nor an endpoint`,
      {
        hint:
          parsed.ok || parsed.error.hint === undefined
            ? `nodes: ${names}`
            : `nodes: ${names}; ${parsed.error.hint}`,
      },
    )
  }
  return { name: text, endpoint: parsed.value }
}

function endpointOf(text: string): Endpoint {
  const parsed = parseEndpoint(text, { defaultPort: DEFAULT_PORT })
  if (!parsed.ok) throw parsed.error
  return parsed.value
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

function credentials(context: Context) {
  return {
    authorities: context.authorities.match(CERTIFICATE) ?? [],
    certificate: context.certificate,
    privateKey: context.privateKey,
  }
}
