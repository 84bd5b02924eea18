/**
 * Steps down and up a DER tree. Every reader names the tag that it expects, and throws PkiFault `der_invalid` for another.
 */
import { PkiFault } from './fault.ts'
import { CONSTRUCTED, decodeOid, encodeOid, type Der } from './x509-provider.ts'

export const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8String: 0x0c,
  printableString: 0x13,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const

/** Identifier octet of [number], constructed or primitive. */
export function contextTag(number: number, kind: Der['kind']): number {
  return 0x80 | (kind === 'constructed' ? CONSTRUCTED : 0) | number
}

export function childrenOf(der: Der | undefined, tag: number): readonly Der[] {
  if (der?.kind === 'constructed' && der.tag === tag) return der.children
  throw new PkiFault('der_invalid', 'an element is missing or has another tag')
}

export function contentOf(der: Der | undefined, tag: number): Buffer {
  if (der?.kind === 'primitive' && der.tag === tag) return der.content
  throw new PkiFault('der_invalid', 'an element is missing or has another tag')
}

/** Returns the octets of a BIT STRING without unused bits: a key, a signature. */
export function wholeBitsOf(der: Der | undefined): Buffer {
  const content = contentOf(der, tags.bitString)
  if (content[0] !== 0) throw new PkiFault('der_invalid', 'a bit string does not end at an octet')
  return content.subarray(1)
}

export function oidOf(der: Der | undefined): string {
  return decodeOid(contentOf(der, tags.oid))
}

/** Returns a small number that is not negative. */
export function smallIntegerOf(der: Der | undefined): number {
  const content = contentOf(der, tags.integer)
  const [value = 0] = content
  if (content.length !== 1 || value > 0x7f) throw new PkiFault('der_invalid', 'a number is out of range')
  return value
}

/** Returns a boolean; DER knows 00 and FF only (X.690 §11.1). */
export function booleanOf(der: Der | undefined): boolean {
  const content = contentOf(der, tags.boolean)
  if (content.length !== 1 || (content[0] !== 0 && content[0] !== 0xff)) {
    throw new PkiFault('der_invalid', 'a boolean is not canonical')
  }
  return content[0] === 0xff
}

/** Returns text of the string types that names use. Bytes that are not of the type's alphabet are refused. */
export function textOf(der: Der | undefined): string {
  if (der?.kind !== 'primitive') throw new PkiFault('der_invalid', 'a text is missing')
  const text = der.content.toString('utf8')
  const isUtf8 = der.tag === tags.utf8String && Buffer.from(text).equals(der.content)
  const isAscii = der.tag === tags.printableString || der.tag === tags.ia5String
  if (isUtf8 || (isAscii && /^[\x20-\x7e]*$/.test(text))) return text
  throw new PkiFault('der_invalid', 'a text is of another string type, or not of its alphabet')
}

/** Refuses when an element holds more than was read. */
export function expectEnd(elements: readonly Der[], read: number): void {
  if (elements.length > read) throw new PkiFault('der_invalid', 'an element holds more than it may')
}

export function constructed(tag: number, children: readonly Der[]): Der {
  return { kind: 'constructed', tag, children }
}

export function primitive(tag: number, content: Buffer): Der {
  return { kind: 'primitive', tag, content }
}

export function sequence(...children: readonly Der[]): Der {
  return constructed(tags.sequence, children)
}

export function oid(dotted: string): Der {
  return primitive(tags.oid, encodeOid(dotted))
}

/** A BIT STRING with all octets used. */
export function wholeBits(octets: Buffer): Der {
  return primitive(tags.bitString, Buffer.concat([Buffer.from([0]), octets]))
}

export function utf8(text: string): Der {
  return primitive(tags.utf8String, Buffer.from(text))
}

/** An INTEGER of a magnitude: the sign octet is added, zeros in front are removed. */
export function positiveInteger(magnitude: Buffer): Der {
  const first = magnitude.findIndex((octet) => octet !== 0)
  const minimal = first === -1 ? Buffer.from([0]) : magnitude.subarray(first)
  const needsSign = (minimal[0] ?? 0) > 0x7f
  return primitive(tags.integer, needsSign ? Buffer.concat([Buffer.from([0]), minimal]) : minimal)
}
