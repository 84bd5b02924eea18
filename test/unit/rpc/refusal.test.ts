import { beforeAll, describe, expect, it } from 'vitest'
import { Attempts } from '../../../agent/rpc/dial.ts'
import { explain } from '../../../agent/rpc/refusal.ts'
import {
  makeAuthority,
  makeClient,
  makeServer,
  type TestAuthority,
  type TestPair,
} from '../../support/certificates.ts'

let authority: TestAuthority
let pair: TestPair

beforeAll(async () => {
  authority = await makeAuthority()
  pair = await makeClient(authority, { lifetimeSeconds: 3600 })
})

/** What the fault is when the server closed a connection whose handshake was fine on our side. */
function fault(own: Partial<TestPair>, options: { details?: string; now?: Date; failure?: Error } = {}) {
  const attempts = new Attempts()
  attempts.isSecured = true
  attempts.failure = options.failure
  const details = options.details ?? 'No connection established. Last error: Failed to connect'
  const error = Object.assign(new Error(details), { code: 14, details })
  const tls = { authorities: [authority.bundle.certificatePem], ...own }
  return explain(error, { tls, attempts, now: options.now ?? new Date() })
}

describe('BR-055 a connection that the server ended at once', () => {
  it('is explained by what is wrong with our certificate', async () => {
    const hour = 3600_000
    const foreign = await makeClient(await makeAuthority('other'))
    expect(fault(foreign).code).toBe('certificate_untrusted')
    expect(fault(await makeServer(authority)).code).toBe('certificate_usage')
    expect(fault(pair, { now: new Date(Date.now() + 2 * hour) }).code).toBe('certificate_expired')
    expect(fault(pair, { now: new Date(Date.now() - hour) }).code).toBe('certificate_not_yet_valid')
  })

  it('is a refusal, with both clocks as the hint, when we see nothing wrong', () => {
    expect(fault(pair)).toMatchObject({ code: 'certificate_refused', status: 'unauthenticated' })
  })

  it('is an unreachable node when we showed no certificate', () => {
    expect(fault({}).code).toBe('node_unreachable')
  })
})

describe('a connection that was never made', () => {
  it.each(['connect ECONNREFUSED 127.0.0.1:1', 'connect EHOSTUNREACH', 'getaddrinfo ENOTFOUND node-a'])(
    'is an unreachable node, whatever an earlier one met: %s',
    (why) => {
      const details = `No connection established. Last error: ${why}`
      expect(fault(pair, { details }).code).toBe('node_unreachable')
      const failure = new Error('tlsv13 alert certificate required')
      expect(fault(pair, { details, failure }).code).toBe('node_unreachable')
    },
  )
})
