import { isIP } from 'node:net'
import { Fault } from './fault.ts'
import { err, ok, type Result } from './result.ts'

/** A host (DNS name or IP literal without brackets) and a port. */
export type Endpoint = { readonly host: string; readonly port: number }

export class EndpointFault extends Fault<'endpoint_invalid' | 'endpoint_ambiguous'> {}

const DNS_NAME =
  /^(?=.{1,253}\.?$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*\.?$/i

/**
 * Returns the endpoint that `text` names, with `defaultPort` where it names none. Accepts a scheme and a trailing slash around it, a bare IPv6
 * literal, and brackets (RFC 3986 section 3.2.2). Refuses a bare IPv6 literal that is followed by what could be a port, zone ids, and ports
 * outside 1 to 65535. The text itself is not in the error.
 */
export function parseEndpoint(
  text: string,
  options: { readonly defaultPort: number },
): Result<Endpoint, EndpointFault> {
  const bare = text
    .trim()
    .replace(/^[a-z][a-z0-9+.-]*:\/\//i, '')
    .replace(/\/$/, '')
  if (isIP(bare) === 6 && !bare.includes('%')) return checked(bare, options.defaultPort)
  const bracketed = /^\[([^\]%]+)\](?::(\d{1,5}))?$/.exec(bare)
  if (bracketed?.[1] !== undefined) {
    if (isIP(bracketed[1]) !== 6) return refuse('the brackets do not hold an IPv6 address')
    return checked(bracketed[1], portOf(bracketed[2], options.defaultPort))
  }
  const parts = bare.split(':')
  if (parts.length > 2) {
    return err(
      new EndpointFault('endpoint_ambiguous', 'an IPv6 address and a port need brackets', {
        hint: 'write [2001:db8::1]:50000',
      }),
    )
  }
  const [host = '', port] = parts
  return checked(host, portOf(port, options.defaultPort))
}

/** `host:port`, with brackets around an IPv6 literal. */
export function formatEndpoint(endpoint: Endpoint): string {
  return endpoint.host.includes(':')
    ? `[${endpoint.host}]:${endpoint.port}`
    : `${endpoint.host}:${endpoint.port}`
}

function portOf(text: string | undefined, defaultPort: number): number {
  if (text === undefined) return defaultPort
  return /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
}

function checked(host: string, port: number): Result<Endpoint, EndpointFault> {
  if (!Number.isInteger(port) || port < 1 || port > 65535)
    return refuse('the port is not a number from 1 to 65535')
  if (isIP(host) !== 0) return ok({ host, port })
  if (/^[\d.]+$/.test(host)) return refuse('the host looks like an IPv4 address and is none')
  if (!DNS_NAME.test(host)) return refuse('the host is neither a DNS name nor an IP address')
  return ok({ host: host.toLowerCase().replace(/\.$/, ''), port })
}

function refuse(message: string): Result<never, EndpointFault> {
  return err(new EndpointFault('endpoint_invalid', message, { hint: 'write host, host:port or [IPv6]:port' }))
}
