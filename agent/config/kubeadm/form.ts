/** Forms of text in kubeadm's documents: what is normalised, and what is refused instead of failing later on the node. */
import { isIP } from 'node:net'
import { parseEndpoint, formatEndpoint } from '#kit/endpoint'
import { text, type Rule } from '../document/field.ts'

export const API_SERVER_PORT = 6443

/** kubeadm's token, `[a-z0-9]{6}.[a-z0-9]{16}` (cluster-bootstrap API, BootstrapTokenPattern). */
export const BOOTSTRAP_TOKEN = /^[a-z0-9]{6}\.[a-z0-9]{16}$/

/** Go's time.ParseDuration, positive, without fractions finer than a reader needs. */
const DURATION = /^(?:\d{1,9}(?:\.\d{1,9})?(?:ns|us|µs|ms|s|m|h)){1,6}$/
const SEMVER =
  /^v?(?:0|[1-9]\d{0,5})\.(?:0|[1-9]\d{0,5})\.(?:0|[1-9]\d{0,5})(?:-[0-9A-Za-z.-]{1,64})?(?:\+[0-9A-Za-z.-]{1,64})?$/
const VERSION_LABEL = /^(?:stable|latest)(?:-\d+(?:\.\d+)?)?$/

export const bootstrapToken = text((value) =>
  BOOTSTRAP_TOKEN.test(value)
    ? undefined
    : {
        code: 'token_form',
        message: 'has to be a bootstrap token: 6 characters, a dot, 16 characters, all of a-z and 0-9',
      },
)

const hashRule: Rule = (value) =>
  /^sha256:[0-9a-f]{64}$/.test(value)
    ? undefined
    : {
        code: 'ca_hash_form',
        message: 'has to be sha256: and 64 hexadecimal digits',
        hint: 'openssl x509 -pubkey -noout -in ca.crt | openssl pkey -pubin -outform der | sha256sum',
      }

/** A pin of a CA's public key; blanks around it and upper case are forgiven. */
export const caCertHash = text([], 256)
  .overwrite((value) => value.trim().toLowerCase())
  .pipe(text(hashRule))

/** Returns `host:port`, brackets around IPv6, scheme and slash gone, or the text as it was when it names no endpoint. */
export function normaliseEndpoint(value: string, defaultPort: number): string {
  const parsed = parseEndpoint(value, { defaultPort })
  return parsed.ok ? formatEndpoint(parsed.value) : value
}

/** Text that names a host and, with or without writing it, a port. */
export function endpointText(defaultPort: number) {
  return text([], 512)
    .overwrite((value) => normaliseEndpoint(value, defaultPort))
    .pipe(text(endpointRule(defaultPort)))
}

export function endpointRule(defaultPort: number): Rule {
  return (value) => {
    const parsed = parseEndpoint(value, { defaultPort })
    if (parsed.ok) return undefined
    const { code, message, hint } = parsed.error
    return { code, message, ...(hint === undefined ? {} : { hint }) }
  }
}

export const duration = text((value) =>
  DURATION.test(value)
    ? undefined
    : { code: 'duration_form', message: 'has to be a duration such as 90s, 5m or 1h30m' },
)

export const kubernetesVersion = text((value) =>
  SEMVER.test(value) || VERSION_LABEL.test(value)
    ? undefined
    : { code: 'version_form', message: 'has to be a full version such as v1.31.4' },
)

export const ipRule: Rule = (value) =>
  isIP(value) !== 0 && !value.includes('%')
    ? undefined
    : { code: 'address_form', message: 'has to be an IP address without a port or zone' }

export const cidrListRule: Rule = (value) =>
  value.split(',').every(isCidr)
    ? undefined
    : { code: 'cidr_form', message: 'has to be one CIDR such as 10.244.0.0/16, or two with a comma between' }

/** True for `address/length` with a length that fits the family. */
export function isCidr(value: string): boolean {
  const [address = '', length = '', ...rest] = value.split('/')
  const family = isIP(address)
  if (family === 0 || address.includes('%') || rest.length > 0 || !/^(?:0|[1-9]\d{0,2})$/.test(length))
    return false
  return Number(length) <= (family === 4 ? 32 : 128)
}

export const certificateKey = text((value) =>
  /^[0-9a-fA-F]{64}$/.test(value)
    ? undefined
    : { code: 'certificate_key_form', message: 'has to be an AES key: 64 hexadecimal digits' },
)

export const absolutePathRule: Rule = (value) =>
  value.startsWith('/') && !value.includes('\0') && !value.split('/').includes('..')
    ? undefined
    : { code: 'path_form', message: 'has to be an absolute path without ..' }
