/** Finds what must never be published in an image: private keys, tokens, hashes of passwords. */
import { readFileSync } from 'node:fs'
import type { Tree } from '../tree.ts'

export type FoundSecret = { readonly path: string; readonly kind: string }

/**
 * A pattern must match the secret itself, not its mention: programs hold the words "BEGIN PRIVATE KEY" without a key after them.
 */
const PATTERNS: readonly { readonly kind: string; readonly pattern: RegExp }[] = [
  {
    kind: 'a private key',
    pattern:
      /-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----\r?\n(?:[A-Za-z-]+:[^\n]*\r?\n)*\s*[A-Za-z0-9+/=]{40,}/,
  },
  { kind: 'an age key', pattern: /AGE-SECRET-KEY-1[A-Z0-9]{50,}/ },
  { kind: 'a bootstrap token', pattern: /\btoken: *["']?[a-z0-9]{6}\.[a-z0-9]{16}\b/ },
  { kind: 'a cloud access key', pattern: /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b[\s\S]{0,80}[A-Za-z0-9/+]{40}\b/ },
  {
    kind: 'a service token',
    pattern: /\b(?:gh[pousr]_[A-Za-z0-9]{36}|npm_[A-Za-z0-9]{36}|xox[bp]-[0-9A-Za-z-]{20,})\b/,
  },
  { kind: 'a web token', pattern: /\beyJ[A-Za-z0-9_-]{20,}\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}/ },
]
/** A password field of passwd(5) or shadow(5) that is neither locked nor moved. */
const PASSWORD = /^[^:\n]+:(?![!*x]|:)[^:\n]+:/m
/** Stands in passwd: no password at all. */
const NO_PASSWORD = /^[^:\n]+::/m

/** Every secret in the tree, by path. */
export function findSecrets(tree: Tree): readonly FoundSecret[] {
  return tree
    .entries()
    .filter(({ stats }) => stats.isFile() && stats.size > 0)
    .flatMap(({ path }) => secretsIn(path, readFileSync(tree.at(path), 'latin1')))
}

/** The secrets of one file. */
export function secretsIn(path: string, text: string): readonly FoundSecret[] {
  const found = PATTERNS.filter(({ pattern }) => pattern.test(text)).map(({ kind }) => ({ path, kind }))
  const holdsUsers = /^etc\/(passwd|shadow|gshadow)-?$/.test(path)
  if (holdsUsers && (PASSWORD.test(text) || NO_PASSWORD.test(text)))
    return [...found, { path, kind: 'a password' }]
  return found
}
