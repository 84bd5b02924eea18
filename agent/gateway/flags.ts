/** The command line of the gateway: every default and limit on one page. */
import { parseArgs } from 'node:util'
import { parseEndpoint, type Endpoint } from '#kit/endpoint'
import { Fault } from '#kit/fault'
import type { ConnectionLimits } from '#rpc'
import type { CallLimits } from './limit.ts'

export class GatewayFault extends Fault<'flag_invalid'> {}

export type GatewayFlags = {
  readonly listen: readonly Endpoint[]
  readonly core: string
  readonly identity: string
  readonly connections: ConnectionLimits
  readonly calls: CallLimits
  readonly maxMessageBytes: number
  readonly maxStreams: number
  readonly idleMs: number
  readonly stallMs: number
  readonly defaultDeadlineMs: number
  readonly maxDeadlineMs: number
  readonly graceMs: number
}

const DEFAULT_PORT = 50_000

/** Numbers that can be set, with their defaults: whole and positive. */
const NUMBERS = {
  'pending-connections': 256,
  'total-connections': 512,
  'connections-per-identity': 64,
  'handshake-timeout-ms': 5_000,
  rate: 200,
  burst: 400,
  'unary-per-identity': 64,
  'streams-per-identity': 64,
  'total-calls': 256,
  'idle-ms': 120_000,
  'stall-ms': 60_000,
  'default-deadline-ms': 30_000,
  'max-deadline-ms': 300_000,
  'grace-ms': 4_000,
} as const

/** Returns the settings; throws GatewayFault `flag_invalid` for an unknown, missing or malformed flag. */
export function readFlags(argv: readonly string[]): GatewayFlags {
  const values = parse(argv)
  const number = (name: keyof typeof NUMBERS) => wholeNumber(name, values[name]) ?? NUMBERS[name]
  return {
    listen: listenOf(values['listen']),
    core: text('core', values['core']),
    identity: text('identity', values['identity']),
    connections: {
      pending: number('pending-connections'),
      total: number('total-connections'),
      perOwner: number('connections-per-identity'),
      handshakeTimeoutMs: number('handshake-timeout-ms'),
    },
    calls: {
      ratePerSecond: number('rate'),
      burst: number('burst'),
      unary: number('unary-per-identity'),
      streams: number('streams-per-identity'),
      total: number('total-calls'),
    },
    maxMessageBytes: 4 * 1024 * 1024,
    maxStreams: 100,
    idleMs: number('idle-ms'),
    stallMs: number('stall-ms'),
    defaultDeadlineMs: number('default-deadline-ms'),
    maxDeadlineMs: number('max-deadline-ms'),
    graceMs: number('grace-ms'),
  }
}

type Values = Readonly<Record<string, unknown>>

function parse(argv: readonly string[]): Values {
  const numbers = Object.fromEntries(Object.keys(NUMBERS).map((name) => [name, { type: 'string' as const }]))
  try {
    const options = {
      ...numbers,
      listen: { type: 'string', multiple: true },
      core: { type: 'string' },
      identity: { type: 'string' },
    } as const
    return parseArgs({ args: [...argv], options, strict: true, allowPositionals: false }).values
  } catch (cause) {
    throw new GatewayFault('flag_invalid', 'the command line is not valid', { cause })
  }
}

function listenOf(value: unknown): readonly Endpoint[] {
  const texts = Array.isArray(value) ? value.map(String) : []
  if (texts.length === 0) throw missing('listen')
  return texts.map((one) => {
    // `::` alone is an address to listen on; port 0 is for tests, which the strict form has no room for.
    const any = /^\[?([^\]]+)\]?:0$/.exec(one)
    if (any?.[1] !== undefined) return { host: any[1], port: 0 }
    const endpoint = parseEndpoint(one, { defaultPort: DEFAULT_PORT })
    if (!endpoint.ok) throw endpoint.error
    return endpoint.value
  })
}

function text(name: string, value: unknown): string {
  if (typeof value !== 'string' || value === '') throw missing(name)
  return value
}

function wholeNumber(name: string, value: unknown): number | undefined {
  if (value === undefined) return undefined
  const number = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : 0
  if (number === 0) throw new GatewayFault('flag_invalid', `--${name} takes a whole number above 0`)
  return number
}

function missing(name: string): GatewayFault {
  return new GatewayFault('flag_invalid', `--${name} is required`)
}
