/**
 * The identity of a daemon that terminates TLS, as core publishes it: one file, replaced as a whole.
 *
 * Invariants: a file that cannot be used (unreadable, torn, a key of another certificate) never replaces an identity that works; the private key
 * never reaches a log.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { watch, type FSWatcher } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { createSecureContext } from 'node:tls'
import type { Clock } from '#kit/clock'
import type { Log } from '#kit/log'
import { err, ok, type Result } from '#kit/result'
import { Secret } from '#kit/secret'

export type NodeIdentity = {
  readonly node: string
  /** PEM. */
  readonly certificate: string
  /** PEM, PKCS #8. */
  readonly privateKey: Secret<string>
  /** PEM, one an item; at least one. */
  readonly authorities: readonly string[]
}

const MAX_BYTES = 256 * 1024
/** While there is no identity: how often the file is looked for, beside the notices of the file system. */
const POLL_ABSENT_MS = 200
const POLL_PRESENT_MS = 5_000

/** Returns the identity that the text holds, or a sentence that says why there is none (and nothing of the text). Pure. */
export function parseIdentity(text: string): Result<NodeIdentity, string> {
  if (text.length > MAX_BYTES) return err('the file is too large')
  const fields = parseFields(text)
  if (fields === undefined) return err('the file is not an identity of version 1')
  const { node, certificate, privateKey, authorities } = fields
  if (authorities.length === 0) return err('no authority is named')
  try {
    const key = createPrivateKey(privateKey)
    if (!new X509Certificate(certificate).checkPrivateKey(key))
      return err('certificate and key do not belong together')
    for (const pem of authorities) new X509Certificate(pem)
    createSecureContext({ cert: certificate, key: privateKey, ca: [...authorities] })
  } catch {
    return err('certificate, key or an authority cannot be read')
  }
  return ok({ node, certificate, privateKey: new Secret(privateKey), authorities })
}

export type IdentityFileOptions = {
  readonly path: string
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}

/** Yields the identity as soon as there is one, and again whenever another good one takes its place. Ends by the signal's reason. */
export async function* identitiesOf(
  options: IdentityFileOptions,
): AsyncGenerator<NodeIdentity, void, undefined> {
  const { path, log, clock, signal } = options
  let last: string | undefined
  let hasIdentity = false
  for (;;) {
    signal.throwIfAborted()
    const change = nextChange(path)
    try {
      const text = await readText(path)
      const identity: NodeIdentity | undefined = text === last ? undefined : usable(text, log, hasIdentity)
      last = text
      hasIdentity ||= identity !== undefined
      if (identity !== undefined) yield identity
      await waitAtMost(hasIdentity ? POLL_PRESENT_MS : POLL_ABSENT_MS, {
        clock,
        signal,
        woken: change.signal,
      })
    } finally {
      change.stop()
    }
  }
}

/** Returns the identity, or says in the log why there is none in a file that is there. */
function usable(text: string | undefined, log: Log, keepsOldIdentity: boolean): NodeIdentity | undefined {
  if (text === undefined) return undefined
  const parsed = parseIdentity(text)
  if (parsed.ok) return parsed.value
  log.warn('the identity file cannot be used', { reason: parsed.error, keepsOldIdentity })
  return undefined
}

async function waitAtMost(
  ms: number,
  options: { readonly clock: Clock; readonly signal: AbortSignal; readonly woken: AbortSignal },
): Promise<void> {
  try {
    await options.clock.sleep(ms, AbortSignal.any([options.signal, options.woken]))
  } catch (error) {
    options.signal.throwIfAborted()
    if (!options.woken.aborted) throw error
  }
}

/** A signal that aborts when something changes in the folder of the file; never, when the folder cannot be watched. */
function nextChange(path: string): { readonly signal: AbortSignal; stop(): void } {
  const changed = new AbortController()
  let watcher: FSWatcher | undefined
  try {
    watcher = watch(dirname(path), () => changed.abort())
    watcher.on('error', () => changed.abort())
  } catch {
    // The folder is not there yet: the poll finds it.
  }
  return { signal: changed.signal, stop: () => watcher?.close() }
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch {
    return undefined
  }
}

type Fields = {
  readonly node: string
  readonly certificate: string
  readonly privateKey: string
  readonly authorities: readonly string[]
}

function parseFields(text: string): Fields | undefined {
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof document !== 'object' || document === null) return undefined
  const read = (name: string): unknown => Reflect.get(document, name)
  const [node, certificate, privateKey] = [read('node'), read('certificate'), read('privateKey')]
  const authorities = read('authorities')
  if (read('version') !== 1 || !isStrings(authorities)) return undefined
  if (typeof node !== 'string' || typeof certificate !== 'string' || typeof privateKey !== 'string')
    return undefined
  return { node, certificate, privateKey, authorities }
}

function isStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}
