/** Files that a configuration brings: where they may go, and how their content is written down. */
import { gunzipSync } from 'node:zlib'
import { ConfigFault } from '../fault.ts'
import type { Problem } from '../finding.ts'

/** Files go below one of these, and nowhere else. */
export const ALLOWED_FOLDERS = [
  '/etc/kubernetes/pki',
  '/etc/kubernetes/patches',
  '/etc/kubernetes/manifests',
  '/etc/cni/net.d',
  '/etc/stele',
  '/var/lib/stele/files',
] as const

export const MAX_FILES = 200
export const MAX_FILE_BYTES = 64 * 1024

const MAX_PATH = 512
/** NAME_MAX of Linux (limits.h) is 255 bytes; a file is written under its name and this suffix before it takes its place. */
export const WRITING_SUFFIX = '.new'
const MAX_NAME_BYTES = 255 - WRITING_SUFFIX.length

export type FileText = {
  readonly content: string
  readonly encoding?: 'base64' | 'gzip' | 'gzip+base64' | undefined
}

/** What is wrong with a path, if anything is. */
export function filePathProblem(path: string): Problem | undefined {
  const parts = path.split('/').slice(1)
  const isNormal = path.startsWith('/') && parts.every((part) => part !== '' && part !== '.' && part !== '..')
  if (!isNormal || path.length > MAX_PATH || /[\\\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(path)) {
    return {
      code: 'path_form',
      message:
        'has to be an absolute path without //, . or .., and without backslashes or invisible characters',
    }
  }
  if (parts.some((part) => Buffer.byteLength(part) > MAX_NAME_BYTES)) {
    return { code: 'path_form', message: `has a name of more than ${MAX_NAME_BYTES} bytes in it` }
  }
  if (ALLOWED_FOLDERS.some((folder) => path.startsWith(`${folder}/`))) return undefined
  return { code: 'path_not_allowed', message: `has to be below one of: ${ALLOWED_FOLDERS.join(', ')}` }
}

/** What is wrong with a file's content, if anything is. */
export function contentProblem(file: FileText): Problem | undefined {
  try {
    decodeContent(file)
    return undefined
  } catch (error) {
    if (error instanceof ConfigFault) return { code: error.code, message: error.message }
    throw error
  }
}

/**
 * The bytes of a file of the configuration. `gzip` is base64 as well, since YAML text cannot hold raw gzip. Throws ConfigFault
 * `content_form` or `content_too_large`, which cannot happen for a file of a parsed configuration.
 */
export function decodeContent(file: FileText): Buffer {
  const bytes = file.encoding === undefined ? Buffer.from(file.content) : fromBase64(file.content)
  const content = file.encoding === undefined || file.encoding === 'base64' ? bytes : inflate(bytes)
  if (content.length > MAX_FILE_BYTES) throw new ConfigFault('content_too_large', 'is larger than 64 KiB')
  return content
}

function fromBase64(content: string): Buffer {
  const compact = content.replace(/[\r\n\t ]/g, '')
  const bytes = Buffer.from(compact, 'base64')
  if (bytes.toString('base64') !== compact) {
    throw new ConfigFault('content_form', 'is not complete base64, as its encoding says')
  }
  return bytes
}

function inflate(bytes: Buffer): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: MAX_FILE_BYTES })
  } catch (cause) {
    const isTooLarge = cause instanceof Error && 'code' in cause && cause.code === 'ERR_BUFFER_TOO_LARGE'
    throw isTooLarge
      ? new ConfigFault('content_too_large', 'is larger than 64 KiB once unpacked', { cause })
      : new ConfigFault('content_form', 'is not complete gzip, as its encoding says', { cause })
  }
}
