/**
 * Reads the sources of user data in order; the first valid one wins.
 *
 * Invariants: every source that was tried is recorded with its verdict; reasons carry positions and paths and never a value; nothing that was
 * read is logged.
 */
import { decodeUserData, formatFinding, parseNodeConfiguration, type NodeConfiguration } from '#config'
import type { Clock } from '#kit/clock'
import { CoreFault } from './fault.ts'
import type { UserDataSource } from './ports.ts'

export type SourceRecord = {
  readonly kind: string
  readonly location: string
  readonly bytes: number
  readonly digest: string
  readonly layers: readonly string[]
  readonly verdict: 'used' | 'absent' | 'invalid' | 'unreachable' | 'skipped'
  readonly reasons: readonly string[]
  readonly readAt: Date
  readonly durationMs: number
}

export type Delivered = {
  readonly sources: readonly SourceRecord[]
  readonly used:
    | { readonly document: string; readonly digest: string; readonly configuration: NodeConfiguration }
    | undefined
  /** The NodeConfig document of broken user data, when that alone is valid and holds a node CA and its key. */
  readonly partial: NodeConfiguration | undefined
}

type Verdict = Pick<SourceRecord, 'bytes' | 'digest' | 'layers' | 'verdict' | 'reasons'> & {
  readonly used?: Delivered['used']
  readonly partial?: NodeConfiguration | undefined
}

/** Returns what the sources delivered. Never throws for what a source holds or does; ends with the signal's reason. */
export async function readUserData(
  sources: readonly UserDataSource[],
  options: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Delivered> {
  const records: SourceRecord[] = []
  let used: Delivered['used']
  let partial: NodeConfiguration | undefined
  for (const source of sources) {
    const readAt = options.clock.now()
    const began = options.clock.monotonic()
    const result = used === undefined ? await judge(source, options.signal) : skipped
    const { used: mine, partial: part, ...verdict } = result
    used ??= mine
    partial ??= part
    const durationMs = Math.round(options.clock.monotonic() - began)
    records.push({ kind: source.kind, location: source.location, ...verdict, readAt, durationMs })
  }
  return { sources: records, used, partial: used === undefined ? partial : undefined }
}

const nothing = { bytes: 0, digest: '', layers: [] as readonly string[] }
const skipped: Verdict = { ...nothing, verdict: 'skipped', reasons: ['an earlier source was used'] }

async function judge(source: UserDataSource, signal: AbortSignal): Promise<Verdict> {
  try {
    const content = await source.read({ signal })
    if (content.kind === 'absent') return { ...nothing, verdict: 'absent', reasons: [] }
    return judgeBytes(content.bytes, content.file)
  } catch (error) {
    signal.throwIfAborted()
    const reason = error instanceof CoreFault ? error.message : 'the source cannot be read'
    const invalid = error instanceof CoreFault && error.code === 'source_invalid'
    return { ...nothing, verdict: invalid ? 'invalid' : 'unreachable', reasons: [reason] }
  }
}

/** Returns the verdict on the bytes of one source. Pure. */
export function judgeBytes(bytes: Buffer, file: string): Verdict {
  const decoded = decodeUserData(bytes, {})
  if (!decoded.ok) {
    const verdict = decoded.error.code === 'absent' ? 'absent' : 'invalid'
    return { ...nothing, bytes: bytes.length, verdict, reasons: [decoded.error.message] }
  }
  const { text, layers, digest } = decoded.value
  const seen = { bytes: bytes.length, digest, layers }
  const parsed = parseNodeConfiguration(text, { file })
  if (parsed.ok) {
    return {
      ...seen,
      verdict: 'used',
      reasons: [],
      used: { document: text, digest, configuration: parsed.value },
    }
  }
  return {
    ...seen,
    verdict: 'invalid',
    reasons: parsed.error.map(formatFinding),
    partial: partialConfiguration(text, file),
  }
}

/** Returns the NodeConfig document of `text` alone, when it is valid by itself and lets administrators in. Pure. */
export function partialConfiguration(text: string, file: string): NodeConfiguration | undefined {
  const documents = text
    .split(/^---(?:[ \t].*)?\r?$/m)
    .filter((document) => /^kind:[ \t]*["']?NodeConfig\b/m.test(document))
  if (documents.length !== 1) return undefined
  const parsed = parseNodeConfiguration(documents[0] ?? '', { file })
  if (!parsed.ok) return undefined
  const { ca, caKey } = parsed.value.node.trust ?? {}
  return ca === undefined || caKey === undefined ? undefined : parsed.value
}
