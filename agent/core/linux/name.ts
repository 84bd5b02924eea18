/**
 * What a real node is called, until its configuration says otherwise.
 *
 * Invariant: the name that was found first stays: it is in the certificate and in the books of the control plane, and the disk that told it may
 * be gone at the next boot.
 */
import { createHash } from 'node:crypto'
import { parse } from 'yaml'
import { z } from 'zod'
import type { JsonFile } from '../store/json-file.ts'

export const machineSchema = z.strictObject({ name: z.string() })

/** Names that hosts have when nobody named them. */
const NO_NAME = new Set(['localhost', 'localhost.localdomain', '(none)', 'stele', 'debian', 'linux'])
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/** Returns the first candidate that is a host name of DNS (RFC 1123), in lower case, or a name made of `seed`, the same each time. Pure. */
export function chooseName(candidates: readonly (string | undefined)[], seed: string): string {
  const names = candidates.map((one) => one?.trim().toLowerCase() ?? '')
  const digest = createHash('sha256').update(seed).digest('hex').slice(0, 10)
  return names.find((name) => isHostName(name) && !NO_NAME.has(name)) ?? `node-${digest}`
}

/** Returns the host name that NoCloud meta-data tells, unchecked; undefined when there is none, or when it is no YAML mapping. Pure. */
export function nameInMetaData(text: string): string | undefined {
  try {
    const parsed = z.record(z.string(), z.unknown()).safeParse(parse(text, { maxAliasCount: 0 }))
    if (!parsed.success) return undefined
    const found = parsed.data['local-hostname'] ?? parsed.data['hostname']
    return typeof found === 'string' ? found : undefined
  } catch {
    return undefined
  }
}

/** Returns the name that `file` keeps; with none, the one that `find` finds, which is then kept. */
export async function keptName(
  file: JsonFile<z.infer<typeof machineSchema>>,
  find: () => Promise<string>,
): Promise<string> {
  const stored = file.read()
  if ('value' in stored) return stored.value.name
  const name = await find()
  file.write({ name })
  return name
}

function isHostName(name: string): boolean {
  return name.length <= 253 && name.split('.').every((label) => LABEL.test(label))
}
