import type { Clock } from '#kit/clock'
import { withDeadline } from '#kit/lifetime'
import { retry } from '#kit/retry'
import { CoreFault } from '../fault.ts'
import type { SourceContent, UserDataSource } from '../ports.ts'
import { MAX_USER_DATA } from './user-data-file.ts'

const ATTEMPT_MS = 10_000
const BUDGET_MS = 60_000
const MAX_REDIRECTS = 3

/** 429 and 5xx: the server asks for patience, or is not up yet. */
class Unready extends CoreFault {}

/**
 * User data behind an http or https URL. Absent is 404 alone; 429, 5xx and failed connections are tried again within a minute; more than
 * three redirects, one to another scheme, and more than 1 MiB are refused.
 */
export function httpSource(url: URL, clock: Clock): UserDataSource {
  const location = `${url.origin}${url.pathname}`
  return {
    kind: 'http',
    location,
    read: async ({ signal }) => {
      const budget = withDeadline(signal, BUDGET_MS, () =>
        unreachable('the source did not answer within a minute'),
      )
      try {
        return await retry(() => attempt(url, location, budget), {
          firstDelayMs: 250,
          maxDelayMs: 5_000,
          attempts: 12,
          clock,
          signal: budget,
          isRetryable: (error) => error instanceof Unready,
        })
      } finally {
        budget.dispose()
      }
    },
  }
}

async function attempt(url: URL, location: string, parent: AbortSignal): Promise<SourceContent> {
  const signal = withDeadline(
    parent,
    ATTEMPT_MS,
    () => new Unready('source_unreachable', 'no answer within 10 seconds'),
  )
  try {
    const response = await follow(url, signal)
    if (response.status === 404) return { kind: 'absent' }
    if (response.status === 429 || response.status >= 500)
      throw new Unready('source_unreachable', 'the source is not ready')
    if (response.status !== 200) throw unreachable(`the source answered with status ${response.status}`)
    return { kind: 'data', bytes: await readBody(response), file: location }
  } catch (error) {
    parent.throwIfAborted()
    if (error instanceof CoreFault) throw error
    throw new Unready('source_unreachable', 'the source cannot be reached', { cause: error })
  } finally {
    signal.dispose()
  }
}

async function follow(first: URL, signal: AbortSignal): Promise<Response> {
  let url = first
  for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
    const authorization = url.origin === first.origin ? basicAuthorization(first) : undefined
    const bare = new URL(url)
    bare.username = ''
    bare.password = ''
    const response = await fetch(bare, {
      redirect: 'manual',
      signal,
      headers: authorization === undefined ? {} : { authorization },
    })
    const target = response.headers.get('location')
    if (response.status < 300 || response.status > 399 || target === null) return response
    await response.body?.cancel()
    url = new URL(target, url)
    if (url.protocol !== 'https:' && url.protocol !== first.protocol) {
      throw unreachable('the source redirects to another scheme')
    }
  }
  throw unreachable('the source redirects more than three times')
}

async function readBody(response: Response): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  let length = 0
  if (response.body === null) return Buffer.alloc(0)
  // The stream of fetch yields Uint8Array; its declared element type is looser.
  for await (const piece of response.body as AsyncIterable<Uint8Array>) {
    length += piece.length
    if (length > MAX_USER_DATA) throw new CoreFault('source_invalid', 'the user data is larger than 1 MiB')
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

function basicAuthorization(url: URL): string | undefined {
  if (url.username === '' && url.password === '') return undefined
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  return `Basic ${Buffer.from(pair).toString('base64')}`
}

function unreachable(message: string): CoreFault {
  return new CoreFault('source_unreachable', message)
}
