/**
 * Finds what must never be published in an image: private keys, tokens, passwords and hashes of them. `secret-kind.ts` says what these are; this says in how
 * many ways a file is read: as it is, with the escapes of a string resolved, as UTF-16, and what its base64 decodes to.
 */
import { readFileSync } from 'node:fs'
import type { Tree } from '../tree.ts'
import { isBinaryKey } from './secret-key.ts'
import { SECRET_KINDS, type SecretKind } from './secret-kind.ts'

export type FoundSecret = { readonly path: string; readonly kind: string }

/** Base64 in one run, or folded as in a document of YAML when it begins like PEM does. */
const BLOB = /LS0tLS1CRUdJTi[A-Za-z0-9+/=\s]{40,}|[A-Za-z0-9+/]{40,}={0,2}/g
/** Larger files of text hold no configuration; their blobs are not decoded. */
const DECODE_LIMIT = 4 * 1024 * 1024

/** Every secret in the tree, by path. */
export function findSecrets(tree: Tree): readonly FoundSecret[] {
  return tree
    .entries()
    .filter(({ stats }) => stats.isFile() && stats.size > 0)
    .flatMap(({ path }) => secretsIn(path, readFileSync(tree.at(path), 'latin1')))
}

/** The secrets of one file, each kind once. `content` holds one byte in each character. */
export function secretsIn(path: string, content: string): readonly FoundSecret[] {
  const text = utf16(content) ?? content
  const isText = text.length <= DECODE_LIMIT && !text.includes('\0')
  const blobs = isText ? decoded(text) : []
  const views = isText ? [text, ...unescaped(text), ...blobs] : [text]
  const kinds = new Set(views.flatMap((view) => kindsIn(path, view)))
  if ([content, ...blobs].some(isBinaryKey)) kinds.add('a private key')
  return [...kinds].map((kind) => ({ path, kind }))
}

function kindsIn(path: string, view: string): readonly string[] {
  const isText = !view.includes('\0')
  return SECRET_KINDS.filter(
    (kind) => (isText || kind.within === 'any') && (kind.path?.test(path) ?? true) && matches(kind, view),
  ).map(({ name }) => name)
}

/** A kind with a check may have passed an example by before the secret comes. */
function matches({ pattern, check }: SecretKind, view: string): boolean {
  if (!check) return pattern.test(view)
  return [...view.matchAll(new RegExp(pattern, `${pattern.flags}g`))].some((match) => check(match))
}

function utf16(content: string): string | undefined {
  if (content.startsWith('\xff\xfe')) return Buffer.from(content.slice(2), 'latin1').toString('utf16le')
  if (!content.startsWith('\xfe\xff')) return undefined
  const bytes = Buffer.from(content.slice(2, content.length - (content.length % 2)), 'latin1')
  return bytes.swap16().toString('utf16le')
}

function unescaped(text: string): readonly string[] {
  if (!text.includes('\\')) return []
  return [
    text
      .replaceAll(/\\+r/g, '')
      .replaceAll(/\\+n/g, '\n')
      .replaceAll(/\\(["'/])/g, '$1'),
  ]
}

function decoded(text: string): readonly string[] {
  return [...text.matchAll(BLOB)].map(([blob]) => Buffer.from(blob, 'base64').toString('latin1'))
}
