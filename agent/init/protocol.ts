/**
 * What is said on init's control socket: one JSON object a line, one response for each request.
 *
 * Invariant: a request is checked here before anything acts on it, and no secret is part of the protocol.
 */
import { z } from 'zod'

/** Longest line of the protocol, in bytes. */
export const MAX_LINE = 64 * 1024

export const serviceNames = ['core', 'gateway', 'trust'] as const
export type ServiceName = (typeof serviceNames)[number]

const name = z.enum(serviceNames)

export const requestSchema = z.discriminatedUnion('command', [
  z.strictObject({ command: z.literal('list') }),
  z.strictObject({ command: z.literal('status') }),
  z.strictObject({ command: z.literal('start'), name }),
  z.strictObject({ command: z.literal('stop'), name }),
  z.strictObject({ command: z.literal('restart'), name }),
  z.strictObject({ command: z.literal('reboot'), forced: z.boolean() }),
  z.strictObject({ command: z.literal('shutdown'), forced: z.boolean() }),
])
export type InitRequest = z.infer<typeof requestSchema>

const serviceSchema = z.strictObject({
  name,
  state: z.enum(['starting', 'running', 'restarting', 'stopped']),
  pid: z.int().nonnegative(),
  since: z.iso.datetime(),
  restarts: z.int().nonnegative(),
  lastExit: z.string(),
})
/** One process of the node as init sees it; `pid` is 0 without a process, `since` is ISO 8601 UTC. */
export type InitService = z.infer<typeof serviceSchema>

export const responseSchema = z.discriminatedUnion('ok', [
  z.strictObject({ ok: z.literal(false), code: z.string(), message: z.string() }),
  z.strictObject({
    ok: z.literal(true),
    services: z.array(serviceSchema).optional(),
    boot: z.strictObject({ bootId: z.string(), bootedAt: z.iso.datetime() }).optional(),
  }),
])
export type InitResponse = z.infer<typeof responseSchema>
