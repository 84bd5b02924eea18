/**
 * The kinds of secrets that an image must not hold, one row each.
 *
 * Invariant: a pattern matches the secret itself, not its mention: programs hold the words "BEGIN PRIVATE KEY" without a key after them.
 */
export type SecretKind = {
  /** How the refusal names it; kinds that a reader would treat alike share one name. */
  readonly name: string
  readonly pattern: RegExp
  /** `text`: the pattern is too common in the bytes of a program to be looked for there. */
  readonly within: 'any' | 'text'
  /** The only paths to look at. */
  readonly path?: RegExp
  /** Looks closer at a match: true when it is one. */
  readonly check?: (match: RegExpMatchArray) => boolean
}

/** What stands in examples and templates where a secret would. */
const PLACEHOLDER =
  /^(?:[%$<{[/&*]|file:|env:|x{3,}|\.{3}|(?:user(?:name)?|pass(?:word|wd)?|pw|secret|token|string|null|none|true|false|undefined|boolean|required|optional|example|changeme|redacted|yes|no)\b)/i

export const SECRET_KINDS: readonly SecretKind[] = [
  // RFC 7468 and what readers of it take too: any ends of lines, headers, indentation, short lines.
  any(
    'a private key',
    /-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----\s*(?:[A-Za-z-]+: ?[^\r\n]*[\r\n]+\s*)*(?:[A-Za-z0-9+/=]{16,}\s*){3}/,
  ),
  any(
    'a private key',
    /-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----\s*(?:[A-Za-z-]+: ?[^\r\n]*[\r\n]+\s*)*[A-Za-z0-9+/=]{40}/,
  ),
  // RFC 4716 names the public form; the private one is of the same shape.
  any(
    'a private key',
    /---- BEGIN SSH2 (?:ENCRYPTED )?PRIVATE KEY ----\s*(?:[A-Za-z-]+: ?[^\r\n]*[\r\n]+)*\s*[A-Za-z0-9+/]{16}/,
  ),
  any('a private key', /PuTTY-User-Key-File-\d+: [\s\S]{0,20000}?Private-Lines: \d+\s+[A-Za-z0-9+/]{16}/),
  // RFC 7517 and 7518: `d` of RSA, EC and OKP, `k` of a symmetric key.
  text('a private key', /\{(?=[^{}]{0,8000}"kty"\s*:)[^{}]{0,8000}"[dk]"\s*:\s*"[\w-]{20,}"/),
  // wg(8) and systemd.netdev(5).
  text('a private key', /^[ \t]*(?:PrivateKey|PresharedKey)[ \t]*=[ \t]*[A-Za-z0-9+/]{43}=/m),
  any('an age key', /AGE-SECRET-KEY-1[A-Z0-9]{50,}/),
  text('a bootstrap token', /\btoken["']?\s*[:=]\s*["']?[a-z0-9]{6}\.[a-z0-9]{16}\b/i),
  text('a bootstrap token', /--(?:[a-z-]*-)?token[= ]["']?[a-z0-9]{6}\.[a-z0-9]{16}\b/),
  text('a bootstrap token', /^[ \t"']*[a-z0-9]{6}\.(?=[a-z]{0,15}\d)[a-z0-9]{16}[ \t"']*\r?$/m),
  any(
    'a cloud access key',
    /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b(?:[\s\S]{0,80}\b[A-Za-z0-9/+]{40}\b|(?<=\b[A-Za-z0-9/+]{40}\b[\s\S]{0,100}))/,
  ),
  text('a cloud access key', /secret_?access_?key["']?\s*[:=]\s*["']?[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])/i),
  any('a cloud access key', /\b(?:AccountKey|SharedAccessKey)=(?:[A-Za-z0-9+/]{86}==|[A-Za-z0-9+/]{43}=)/),
  any('a service token', /\bgh[pousr]_[A-Za-z0-9]{36}/),
  any('a service token', /\bgithub_pat_\w{30,}/),
  any('a service token', /\bgl(?:pat|rt|dt|ptt)-[\w-]{20,}/),
  any('a service token', /\bnpm_[A-Za-z0-9]{36}\b/),
  any('a service token', /\bxox[abeprs]-[0-9A-Za-z-]{20,}/),
  any('a service token', /\bxapp-\d-[0-9A-Za-z-]{20,}/),
  any('a service token', /\bAIza[\w-]{35}/),
  any('a service token', /\b[sr]k_(?:live|test)_[0-9A-Za-z]{16,}/),
  any('a service token', /\bsk-(?:ant|proj)-[\w-]{20,}/),
  any('a service token', /\bhv[sbr]\.[\w-]{20,}/),
  any('a service token', /\bdckr_pat_[\w-]{20,}/),
  text('a service token', /\b_(?:authToken|auth|password)\s*=\s*["']?([^\s"']{8,})/, isReal),
  any('a web token', /\beyJ[\w-]{20,}\.eyJ[\w-]{20,}\.[\w-]{20,}/),
  text(
    'a registry password',
    /["']?\bauth["']?\s*[:=]\s*["']([A-Za-z0-9+/]{8,}={0,2})["']/,
    isUserAndPassword,
  ),
  // crypt(5), at the full length of each hash: a setting alone is no secret.
  any('a hash of a password', /\$(?:1|apr1)\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{22}(?![./A-Za-z0-9])/),
  any(
    'a hash of a password',
    /\$[56]\$(?:rounds=\d+\$)?[^$:\s]{1,16}\$(?:[./A-Za-z0-9]{86}|[./A-Za-z0-9]{43})(?![./A-Za-z0-9])/,
  ),
  any(
    'a hash of a password',
    /\$(?:y|gy|7)\$[./A-Za-z0-9]+\$[./A-Za-z0-9]{1,86}\$[./A-Za-z0-9]{43}(?![./A-Za-z0-9])/,
  ),
  any('a hash of a password', /\$2[abxy]\$\d\d\$[./A-Za-z0-9]{53}(?![./A-Za-z0-9])/),
  any(
    'a hash of a password',
    /\$argon2(?:id|i|d)\$v=\d+\$m=\d+,t=\d+,p=\d+\$[A-Za-z0-9+/]{8,}\$[A-Za-z0-9+/]{20,}/,
  ),
  text('a hash of a password', /^[^:\s]+:\{S?SHA(?:256|512)?\}[A-Za-z0-9+/]{27,}={0,2}/m),
  { ...text('a hash of a password', /^[^:#\s]+:[^:\s]{8,}$/m), path: /(?:^|\/)\.?htpasswd$/ },
  text(
    'a password',
    /\bmachine\s+\S+\s+(?:login\s+\S+\s+)?password\s+\S+|\bdefault\s+login\s+\S+\s+password\s+\S+/,
  ),
  text('a password', /^[^:\s#]+:(?:5432|\*):[^:\n]+:[^:\n]+:[^:\n]+$/m),
  {
    ...text('a password', /^[^:\s#]+:[\d*]+:[^:\n]+:[^:\n]+:[^:\n]+$/m),
    path: /(?:^|\/)\.?pgpass(?:\.conf)?$/,
  },
  text(
    'a password',
    /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@"'`<>]{1,100}:([^\s/@"'`<>]{3,100})@[\w[]/i,
    isReal,
  ),
  // A key and one word to the end of the line: a sentence about passwords is none. Code is left out, where such words are names.
  {
    ...text(
      'a password',
      /^[ \t]*(?:- |export |Environment=)?["']?(?:[\w.-]*[_.-])?(?:password|passphrase|client_?secret|secret_?key)["']?[ \t]*[:=][ \t]*(["']?)(?<value>[^\s"']{4,})\1[ \t]*,?\r?$/im,
      isReal,
    ),
    path: /^(?!.*\.(?:[cm]?[jt]s|proto|py|pl|lua)$)/,
  },
  // passwd(5), shadow(5), gshadow(5): a field that is neither locked nor moved, and one that asks for no password.
  {
    ...text('a password', /^[^:\n]+:(?!(?:x|[!*]+|![a-z]+|)(?::|$))[^:\n]+(?::|$)/m),
    path: /(?:^|\/)etc\/(?:g?shadow|passwd)(?:-|~|\.\w+)?$/,
  },
  { ...text('a password', /^[^:\n]+::/m), path: /(?:^|\/)etc\/(?:g?shadow|passwd)(?:-|~|\.\w+)?$/ },
]

function any(name: string, pattern: RegExp): SecretKind {
  return { name, pattern, within: 'any' }
}

function text(name: string, pattern: RegExp, check?: SecretKind['check']): SecretKind {
  return { name, pattern, within: 'text', ...(check && { check }) }
}

function isReal(match: RegExpMatchArray): boolean {
  return !PLACEHOLDER.test(match.groups?.['value'] ?? match[1] ?? '')
}

/** The `auth` of a registry: base64 of `USER:PASSWORD`, in characters that can be typed. */
function isUserAndPassword(match: RegExpMatchArray): boolean {
  return /^[\x20-\x7e]+:[\x20-\x7e]+$/.test(Buffer.from(match[1] ?? '', 'base64').toString('latin1'))
}
