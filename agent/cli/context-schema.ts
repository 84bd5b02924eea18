/** What a file of contexts may hold. Pure. */
import { z } from 'zod'
import { parseEndpoint } from '#kit/endpoint'
import { err, ok, type Result } from '#kit/result'
import { DEFAULT_PORT } from './port.ts'

export type ContextNode = {
  readonly name: string
  readonly endpoint: string
  /** What the node's certificate must name when its endpoint is not its own address: behind a forwarded port, a NAT or a tunnel. */
  readonly serverName?: string | undefined
}

/** One cluster, or a part of it, as one person may reach it. */
export type Context = {
  readonly nodes: readonly ContextNode[]
  /** PEM of every authority that may have signed a node. */
  readonly authorities: string
  /** PEM of the person's certificate. */
  readonly certificate: string
  /** PEM of its key. */
  readonly privateKey: string
}

export type Contexts = {
  readonly version: 1
  readonly current?: string | undefined
  readonly contexts: Readonly<Record<string, Context>>
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,62}$/
const name = z.string().regex(NAME, 'a name is 1 to 63 of letters, digits, . _ @ -')
const pem = (label: RegExp) =>
  z
    .string()
    .max(64 * 1024)
    .regex(label, 'PEM is expected here')
const serverName = z
  .string()
  .max(253)
  .regex(/^[A-Za-z0-9:]([A-Za-z0-9.:-]*[A-Za-z0-9:])?$/, 'a DNS name or an IP address is expected here')
const endpoint = z.string().refine((text) => parseEndpoint(text, { defaultPort: DEFAULT_PORT }).ok, {
  message: 'host, host:port or [IPv6]:port is expected here',
})

const contextSchema = z.strictObject({
  nodes: z
    .array(z.strictObject({ name, endpoint, serverName: serverName.optional() }))
    .max(1000)
    .refine((nodes) => new Set(nodes.map((node) => node.name)).size === nodes.length, {
      message: 'two nodes have the same name',
    }),
  authorities: pem(/-----BEGIN CERTIFICATE-----/),
  certificate: pem(/-----BEGIN CERTIFICATE-----/),
  privateKey: pem(/-----BEGIN (EC |RSA )?PRIVATE KEY-----/),
})

const contextsSchema = z.strictObject({
  version: z.literal(1),
  current: name.optional(),
  contexts: z.record(name, contextSchema),
})

/** The contexts, or what is wrong, each with its path and without the value. */
export function checkContexts(value: unknown): Result<Contexts, readonly string[]> {
  const parsed = contextsSchema.safeParse(value)
  return parsed.success ? ok(parsed.data) : err(parsed.error.issues.map(describeIssue))
}

function describeIssue(issue: z.core.$ZodIssue): string {
  const path = issue.path.map(String).join('.')
  const reason = issue.code === 'unrecognized_keys' ? 'unknown key' : issue.message
  return path === '' ? reason : `${path}: ${reason}`
}
