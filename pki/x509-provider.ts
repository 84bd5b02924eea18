/**
 * DER in and out: the only file that knows the X.509 library, of which only ASN.1 is used. It decides nothing about keys, signatures or chains.
 *
 * Invariants: what is read is canonical (it encodes to the same bytes), so that signed bytes and parsed values cannot differ; depth and size
 * are bounded; a tree is plain data, and every step down it names the tag that it expects (the library itself checks none).
 */
import forge from 'node-forge'
import { PkiFault } from './fault.ts'

/** One element: `tag` is the identifier octet; a constructed element has children, a primitive one has content. */
export type Der =
  | { readonly kind: 'constructed'; readonly tag: number; readonly children: readonly Der[] }
  | { readonly kind: 'primitive'; readonly tag: number; readonly content: Buffer }

export const CONSTRUCTED = 0x20
const MAX_DER = 16 * 1024
/** Deep enough for every certificate; a parser without a bound can be made to exhaust the stack (CVE-2025-66031). */
const MAX_DEPTH = 24
const CLASS_BITS = 0xc0
const TYPE_BITS = 0x1f
const BMP_STRING = 0x1e

/** Returns the tree of canonical DER of at most 16 KiB; throws PkiFault `der_invalid`. */
export function readDer(bytes: Buffer): Der {
  if (bytes.length > MAX_DER) throw new PkiFault('der_invalid', 'the DER is longer than 16 KiB')
  // Typed apart: the type package does not know maxDepth. decodeBitStrings would parse keys and signatures as if they were DER.
  const options = { strict: true, parseAllBytes: true, decodeBitStrings: false, maxDepth: MAX_DEPTH }
  const read: (bytes: string, options: object) => forge.asn1.Asn1 = forge.asn1.fromDer as never // the same function, with the options it has
  let tree: forge.asn1.Asn1
  try {
    tree = read(bytes.toString('latin1'), options)
  } catch (cause) {
    throw new PkiFault('der_invalid', 'the bytes are not DER', { cause })
  }
  const der = fromLibrary(tree)
  if (!encodeDer(der).equals(bytes)) throw new PkiFault('der_invalid', 'the DER is not canonical')
  return der
}

/** Returns the bytes of a tree. */
export function encodeDer(der: Der): Buffer {
  return Buffer.from(forge.asn1.toDer(toLibrary(der)).getBytes(), 'latin1')
}

/** Returns the content octets of an object identifier in dotted form. */
export function encodeOid(dotted: string): Buffer {
  return Buffer.from(forge.asn1.oidToDer(dotted).getBytes(), 'latin1')
}

/** Returns the dotted form; throws PkiFault `der_invalid` when the octets are not the one encoding of it (CVE-2025-66030). */
export function decodeOid(content: Buffer): string {
  try {
    const dotted = forge.asn1.derToOid(content.toString('latin1'))
    if (encodeOid(dotted).equals(content)) return dotted
  } catch (cause) {
    throw new PkiFault('der_invalid', 'an object identifier cannot be read', { cause })
  }
  throw new PkiFault('der_invalid', 'an object identifier is not canonical')
}

function fromLibrary(node: forge.asn1.Asn1): Der {
  const type: number = node.type
  if (type === TYPE_BITS) throw new PkiFault('der_invalid', 'the DER has a tag of several octets')
  const tag = node.tagClass | (node.constructed ? CONSTRUCTED : 0) | type
  const { value } = node
  if (typeof value !== 'string') return { kind: 'constructed', tag, children: value.map(fromLibrary) }
  // The library reads type 30 as UTF-16 units; nothing here uses it.
  if (type === BMP_STRING) throw new PkiFault('der_invalid', 'the DER has a BMPString')
  return { kind: 'primitive', tag, content: Buffer.from(value, 'latin1') }
}

function toLibrary(der: Der): forge.asn1.Asn1 {
  const tagClass = der.tag & CLASS_BITS
  const type = der.tag & TYPE_BITS
  if (der.kind === 'constructed') return forge.asn1.create(tagClass, type, true, der.children.map(toLibrary))
  return forge.asn1.create(tagClass, type, false, der.content.toString('latin1'))
}
