/** One wrapping of user data at a time: is it there, and what is inside. Pure. */
import { gunzipSync } from 'node:zlib'
import { UserDataFault } from './fault.ts'

/** True for the magic number of gzip (RFC 1952 section 2.3.1). */
export function isGzip(bytes: Buffer): boolean {
  return bytes.length >= 2 && bytes[0] === 0x1f && bytes[1] === 0x8b
}

/** The name of a compression that is recognised and not accepted. */
export function foreignCompression(bytes: Buffer): string | undefined {
  const magic: readonly (readonly [string, string])[] = [
    ['28b52ffd', 'zstd'],
    ['fd377a585a00', 'xz'],
    ['425a68', 'bzip2'],
    ['504b0304', 'zip'],
  ]
  return magic.find(([hex]) => bytes.subarray(0, hex.length / 2).toString('hex') === hex)?.[1]
}

/** Inflates to at most `maxBytes`, never more. Throws UserDataFault. */
export function gunzip(bytes: Buffer, maxBytes: number, tooLarge: () => UserDataFault): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: maxBytes })
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
    if (code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge()
    if (code === 'Z_BUF_ERROR') {
      throw new UserDataFault('gzip_truncated', 'the gzip data ends too early', {
        hint: 'it was cut on its way',
        cause,
      })
    }
    throw new UserDataFault('gzip_corrupt', 'the gzip data is damaged', { cause })
  }
}

/** Characters of both alphabets (RFC 4648 sections 4 and 5). */
const isAlphabet = (byte: number) =>
  (byte >= 0x30 && byte <= 0x39) ||
  (byte >= 0x41 && byte <= 0x5a) ||
  (byte >= 0x61 && byte <= 0x7a) ||
  byte === 0x2b ||
  byte === 0x2f ||
  byte === 0x2d ||
  byte === 0x5f
const isSpace = (byte: number) => byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d
const isPadding = (byte: number) => byte === 0x3d

/** No key of a configuration is as long, so a longer run of letters at the start was not written as YAML. */
const RUN = 48
const SHORTEST = 8

/**
 * True when the bytes were base64 once: they hold nothing else, or they start with a run of it that no configuration starts with. White space
 * inside counts as nothing.
 */
export function isBase64(bytes: Buffer): boolean {
  let run = 0
  for (const byte of bytes) {
    if (isSpace(byte) || isPadding(byte)) continue
    if (!isAlphabet(byte)) return run >= RUN
    run += 1
  }
  return run >= SHORTEST
}

/** Decodes either alphabet, white space removed. Throws UserDataFault with the offset of what does not belong, or for missing padding. */
export function decodeBase64(bytes: Buffer): Buffer {
  let padding = 0
  let count = 0
  for (const [offset, byte] of bytes.entries()) {
    if (isSpace(byte)) continue
    const isPad = isPadding(byte)
    if (!isPad && (padding > 0 || !isAlphabet(byte))) throw foreignCharacter(offset)
    if (isPad) padding += 1
    count += 1
  }
  // Node decodes both alphabets and skips white space.
  const decoded = Buffer.from(bytes.toString('latin1'), 'base64')
  if (count % 4 !== 0 || padding > 2 || count - padding !== Math.ceil((decoded.length * 4) / 3)) {
    throw new UserDataFault('base64_padding', 'the base64 data has not its padding, as if it were cut', {
      hint: 'encode with padding (=), and check that nothing cuts the value',
    })
  }
  return decoded
}

function foreignCharacter(offset: number): UserDataFault {
  return new UserDataFault(
    'base64_character',
    `the base64 data has a character at offset ${offset} that does not belong`,
    {
      hint: 'white space is ignored; anything else was put there on the way',
    },
  )
}
