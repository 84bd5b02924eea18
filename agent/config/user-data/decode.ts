/**
 * User data as a cloud hands it over → the text of a node configuration.
 *
 * Invariants: never throws for what the bytes are; never makes more of them than the caps allow; what was never wrapped is never unwrapped; no
 * error holds a byte of the data.
 */
import { createHash } from 'node:crypto'
import { err, ok, type Result } from '#kit/result'
import { UserDataFault } from './fault.ts'
import { decodeBase64, foreignCompression, gunzip, isBase64, isGzip } from './layer.ts'
import { sniff } from './sniff.ts'

export type UserDataCaps = {
  readonly inputBytes: number
  readonly outputBytes: number
  /** Output over input; judged beyond `ratioFreeBytes` of output. */
  readonly ratio: number
  readonly ratioFreeBytes: number
  readonly layers: number
}

export const USER_DATA_CAPS: UserDataCaps = {
  inputBytes: 1024 * 1024,
  outputBytes: 4 * 1024 * 1024,
  ratio: 100,
  ratioFreeBytes: 64 * 1024,
  layers: 4,
}

export type DecodedUserData = {
  /** UTF-8 text without byte order mark, lines ended by LF. */
  readonly text: string
  /** What was taken off, outermost first: `gzip`, `base64`, `bom`, `crlf`. */
  readonly layers: readonly string[]
  readonly format: 'node-configuration'
  readonly bytesIn: number
  readonly bytesOut: number
  /** `sha256:` and hex, of the bytes as they came. */
  readonly digest: string
}

/** Returns the text, or why the bytes are not the text of a node configuration. `absent` means that nothing was delivered. */
export function decodeUserData(
  bytes: Buffer,
  options: { readonly caps?: Partial<UserDataCaps> } = {},
): Result<DecodedUserData, UserDataFault> {
  const caps = { ...USER_DATA_CAPS, ...options.caps }
  const layers: string[] = []
  try {
    if (bytes.length > caps.inputBytes) {
      return err(
        new UserDataFault('input_too_large', `the user data is larger than ${caps.inputBytes} bytes`),
      )
    }
    const text = toText(peel(bytes, caps, layers), layers)
    const foreign = sniff(text)
    if (foreign !== undefined) throw foreign
    return ok({
      text,
      layers,
      format: 'node-configuration',
      bytesIn: bytes.length,
      bytesOut: Buffer.byteLength(text),
      digest: `sha256:${createHash('sha256').update(bytes).digest('hex')}`,
    })
  } catch (error) {
    if (error instanceof UserDataFault) return err(inLayer(error, layers))
    throw error
  }
}

function peel(input: Buffer, caps: UserDataCaps, layers: string[]): Buffer {
  let bytes = input
  for (let taken = 0; ; taken += 1) {
    const kind = wrapping(bytes)
    if (kind === undefined) return bytes
    if (taken === caps.layers) {
      throw new UserDataFault('too_many_layers', `the user data is wrapped more than ${caps.layers} times`)
    }
    const next = kind === 'base64' ? decodeBase64(bytes) : inflate(bytes, input.length, caps)
    layers.push(kind)
    bytes = next
  }
}

function wrapping(bytes: Buffer): 'gzip' | 'base64' | undefined {
  if (isGzip(bytes)) return 'gzip'
  const foreign = foreignCompression(bytes)
  if (foreign !== undefined) {
    throw new UserDataFault('compression_unknown', `the data is compressed with ${foreign}`, {
      hint: 'use gzip',
    })
  }
  return isBase64(bytes) ? 'base64' : undefined
}

/** The ratio counts from the first input on, so that layers do not multiply it. */
function inflate(bytes: Buffer, inputLength: number, caps: UserDataCaps): Buffer {
  const byRatio = Math.max(caps.ratioFreeBytes, inputLength * caps.ratio)
  return gunzip(bytes, Math.min(caps.outputBytes, byRatio), () =>
    byRatio < caps.outputBytes
      ? new UserDataFault('ratio_too_large', `the data unpacks to more than ${caps.ratio} times its size`)
      : new UserDataFault('output_too_large', `the data unpacks to more than ${caps.outputBytes} bytes`),
  )
}

function toText(bytes: Buffer, layers: string[]): string {
  if (isUtf16(bytes)) {
    throw new UserDataFault('encoding_utf16', 'the text is UTF-16 or UTF-32', { hint: 'save it as UTF-8' })
  }
  if (bytes.includes(0)) throw new UserDataFault('binary', 'the data holds NUL bytes: it is no text')
  const text = decodeUtf8(bytes)
  if (/[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]/.test(text)) {
    throw new UserDataFault('binary', 'the data holds control characters: it is no text')
  }
  const bare = text.startsWith('\uFEFF') ? text.slice(1) : text
  if (bare !== text) layers.push('bom')
  const unix = bare.replaceAll('\r\n', '\n')
  if (unix !== bare) layers.push('crlf')
  return unix
}

function isUtf16(bytes: Buffer): boolean {
  const start = bytes.subarray(0, 4).toString('hex')
  return /^(?:fffe|feff|0000feff)/.test(start)
}

function decodeUtf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw new UserDataFault('encoding_utf8', 'the text is not valid UTF-8', {
      hint: 'save it as UTF-8',
      cause,
    })
  }
}

function inLayer(fault: UserDataFault, layers: readonly string[]): UserDataFault {
  if (layers.length === 0) return fault
  const message = `${fault.message} (inside ${layers.join(', then ')})`
  const { hint, cause } = fault
  return new UserDataFault(fault.code, message, { ...(hint === undefined ? {} : { hint }), cause })
}
