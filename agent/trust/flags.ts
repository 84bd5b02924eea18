/** The command line of trust: every default and limit on one page. */
import { parseArgs } from 'node:util'
import { parseEndpoint, type Endpoint } from '#kit/endpoint'
import { Fault } from '#kit/fault'
import type { ConnectionLimits } from '#rpc'
import { DEFAULT_POLICY, type ThrottlePolicy } from './throttle.ts'
import { DEFAULT_TURNS, type TurnPolicy } from './turn-queue.ts'

export class TrustFault extends Fault<'flag_invalid'> {}

export type TrustFlags = {
  readonly listen: readonly Endpoint[]
  readonly core: string
  readonly identity: string
  readonly connections: ConnectionLimits
  readonly throttle: ThrottlePolicy
  readonly turns: TurnPolicy
  readonly waitMs: number
  readonly maxMessageBytes: number
  readonly idleMs: number
  readonly deadlineMs: number
  readonly graceMs: number
}

const DEFAULT_PORT = 50_001

/** Returns the settings; throws TrustFault `flag_invalid` for an unknown, missing or malformed flag. */
export function readFlags(argv: readonly string[]): TrustFlags {
  const values = parse(argv)
  const { listen = [], core, identity } = values
  if (listen.length === 0 || core === undefined || identity === undefined)
    throw new TrustFault('flag_invalid', '--listen, --core and --identity are required')
  return {
    listen: listen.map(endpointOf),
    core,
    identity,
    connections: { pending: 128, total: 256, perOwner: 16, handshakeTimeoutMs: 5_000 },
    throttle: DEFAULT_POLICY,
    turns: DEFAULT_TURNS,
    waitMs: 5_000,
    // Room for a request that is far too large, so that it is told which rule it broke; the rule itself says 8 KiB.
    maxMessageBytes: 128 * 1024,
    idleMs: 15_000,
    deadlineMs: 10_000,
    graceMs: 4_000,
  }
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      options: {
        listen: { type: 'string', multiple: true },
        core: { type: 'string' },
        identity: { type: 'string' },
      },
      strict: true,
      allowPositionals: false,
    }).values
  } catch (cause) {
    throw new TrustFault('flag_invalid', 'the command line is not valid', { cause })
  }
}

function endpointOf(text: string): Endpoint {
  const anyPort = /^\[?([^\]]+)\]?:0$/.exec(text)
  if (anyPort?.[1] !== undefined) return { host: anyPort[1], port: 0 }
  const endpoint = parseEndpoint(text, { defaultPort: DEFAULT_PORT })
  if (!endpoint.ok) throw endpoint.error
  return endpoint.value
}
