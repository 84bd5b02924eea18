/** Private keys in binary form. */
import { createPrivateKey } from 'node:crypto'

/** A key of RSA-16384 takes 10 KB; a store with its certificates stays below this too. */
const KEY_LIMIT = 65_536

const SEQUENCE = '\x30'
const FORMS = ['pkcs8', 'sec1', 'pkcs1'] as const
/**
 * The start of a PFX, RFC 7292 section 4: SEQUENCE { INTEGER 3, SEQUENCE { OBJECT data or signedData. OpenSSL opens one only with its password, so the
 * structure has to tell.
 */
const PFX =
  /^\x30(?:[\x00-\x80]|\x81.|\x82..|\x83...)\x02\x01\x03\x30(?:[\x00-\x80]|\x81.|\x82..|\x83...)\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07[\x01\x02]/s

/** True for DER of PKCS#8 (encrypted too), SEC 1, PKCS#1 or PKCS#12, of at most 64 KiB. `content` holds one byte in each character. */
export function isBinaryKey(content: string): boolean {
  if (content.length > KEY_LIMIT || content.length < 32 || !content.startsWith(SEQUENCE)) return false
  return PFX.test(content) || FORMS.some((type) => opens(Buffer.from(content, 'latin1'), type))
}

function opens(key: Buffer, type: (typeof FORMS)[number]): boolean {
  try {
    createPrivateKey({ key, format: 'der', type })
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ERR_MISSING_PASSPHRASE'
  }
}
