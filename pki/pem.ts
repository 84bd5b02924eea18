/**
 * PEM (RFC 7468), strict: the label is compared, base64 is canonical, nothing else is inside a block. Every text has a cap before it is read.
 */
import { attempt, PkiFault, refuse } from './fault.ts'
import { ok, type Result } from './result.ts'

export type PemLabel = 'CERTIFICATE' | 'CERTIFICATE REQUEST' | 'PRIVATE KEY' | 'PUBLIC KEY'

export type PemLimits = {
  readonly label: PemLabel
  /** The most blocks that are accepted; at least one is needed. */
  readonly max: number
  /** The most bytes of text. */
  readonly maxBytes: number
}

const BUNDLE_LIMITS: PemLimits = { label: 'CERTIFICATE', max: 64, maxBytes: 256 * 1024 }
const CERTIFICATE_LIMITS: PemLimits = { label: 'CERTIFICATE', max: 1, maxBytes: 16 * 1024 }

/** Returns the DER of each block. Text around blocks and CRLF are fine; a block of another label is not. */
export function parsePem(text: string, limits: PemLimits): Result<readonly Buffer[], PkiFault> {
  if (Buffer.byteLength(text) > limits.maxBytes) {
    return refuse('pem_too_large', `the PEM text is longer than ${limits.maxBytes} bytes`)
  }
  return attempt('pem_invalid', 'the text is not PEM', () => {
    const blocks = cutBlocks(text)
    if (blocks.some((block) => block.label !== limits.label)) {
      throw new PkiFault('pem_invalid', `the text holds another PEM block than ${limits.label}`)
    }
    if (blocks.length === 0 || blocks.length > limits.max) {
      throw new PkiFault(
        'pem_count',
        `the text holds ${blocks.length} PEM blocks, of which 1 to ${limits.max} are accepted`,
      )
    }
    return blocks.map((block) => decodeBase64(block.lines))
  })
}

/** Returns each certificate of a bundle as canonical PEM, in order, so that equal certificates are equal texts. */
export function splitCertificates(pem: string): Result<readonly string[], PkiFault> {
  const blocks = parsePem(pem, BUNDLE_LIMITS)
  return blocks.ok ? ok(blocks.value.map((der) => encodePem('CERTIFICATE', der))) : blocks
}

/** Returns the DER of the one certificate in a PEM text of at most 16 KiB. */
export function parseCertificatePem(pem: string): Result<Buffer, PkiFault> {
  const blocks = parsePem(pem, CERTIFICATE_LIMITS)
  if (!blocks.ok) return blocks
  const [der] = blocks.value
  return der === undefined ? refuse('pem_count', 'the text holds no certificate') : ok(der)
}

/** Returns PEM with lines of 64 characters and a line break at the end. */
export function encodePem(label: PemLabel, der: Buffer): string {
  const body = der.toString('base64').replace(/.{64}(?=.)/g, '$&\n')
  return `-----BEGIN ${label}-----\n${body}\n-----END ${label}-----\n`
}

type Block = { readonly label: string; readonly lines: readonly string[] }

function cutBlocks(text: string): readonly Block[] {
  const blocks: Block[] = []
  let open: { readonly label: string; readonly lines: string[] } | undefined
  for (const line of text.split(/\r?\n/)) {
    const boundary = boundaryIn(line)
    if (boundary === undefined) {
      open?.lines.push(line)
    } else if (open === undefined) {
      if (boundary.kind !== 'BEGIN') throw broken('a PEM block has no begin')
      open = { label: boundary.label, lines: [] }
    } else {
      if (boundary.kind !== 'END' || boundary.label !== open.label)
        throw broken('a PEM block has no end of its own')
      blocks.push(open)
      open = undefined
    }
  }
  if (open !== undefined) throw broken('a PEM block has no end')
  return blocks
}

function boundaryIn(line: string): { readonly kind: string; readonly label: string } | undefined {
  const [, kind, label] = /^-----(BEGIN|END) ([A-Z0-9 ]{1,40})-----[ \t]*$/.exec(line) ?? []
  if (kind !== undefined && label !== undefined) return { kind, label }
  if (line.includes('-----BEGIN') || line.includes('-----END')) throw broken('a PEM boundary is malformed')
  return undefined
}

function decodeBase64(lines: readonly string[]): Buffer {
  const body = lines.map((line) => line.trim()).join('')
  const der = Buffer.from(body, 'base64')
  // Buffer skips what is not base64; only a text that comes back unchanged was base64 and nothing else.
  if (body === '' || der.toString('base64') !== body)
    throw broken('a PEM block holds something else than base64')
  return der
}

function broken(message: string): PkiFault {
  return new PkiFault('pem_invalid', message)
}
