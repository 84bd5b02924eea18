import { afterEach, describe, expect, it } from 'vitest'
import { makeClient } from '../../support/certificates.ts'
import { eventually } from '../../support/wait.ts'
import { faultOf, soon, startFixture, type Fixture } from './harness.ts'

let open: Fixture | undefined

afterEach(async () => {
  await open?.[Symbol.asyncDispose]()
  open = undefined
})

async function start(...arguments_: Parameters<typeof startFixture>): Promise<Fixture> {
  open = await startFixture(...arguments_)
  return open
}

describe('limits of one certificate', () => {
  it('refuse calls over the rate with a code and a hint, and let another certificate through', async () => {
    const fixture = await start(['--rate', '1', '--burst', '3'])
    await using client = fixture.dial()
    for (let call = 0; call < 3; call += 1) await client.system.version({}, soon())
    const fault = await faultOf(client.system.version({}, soon()))
    expect([fault.status, fault.code]).toEqual(['resource_exhausted', 'rate_limited'])
    expect(fault.hint).toMatch(/^try again in \d+ ms$/)
    await using other = fixture.dial(await makeClient(fixture.authority, { commonName: 'bob' }))
    await other.system.version({}, soon())
    const line = await eventually(() =>
      fixture.daemon.lines().find((one) => one['message'] === 'call refused'),
    )
    expect(line).toMatchObject({
      audit: true,
      who: 'alice',
      from: '127.0.0.1',
      code: 'rate_limited',
      outcome: 'refused',
    })
  })

  it('refuse streams over the number, and count them down again', async () => {
    const fixture = await start(['--streams-per-identity', '2'])
    await using client = fixture.dial()
    const signal = AbortSignal.timeout(15_000)
    const follow = () => client.log.logs({ service: 'x', follow: true }, { signal })[Symbol.asyncIterator]()
    const [first, second] = [follow(), follow()]
    await first.next()
    await second.next()
    expect(await faultOf(follow().next())).toMatchObject({
      code: 'too_many_streams',
      status: 'resource_exhausted',
    })
    await first.return?.()
    await eventually(async () => (await follow().next()).done === false)
  })

  it('evict its own oldest connection, not those of others', async () => {
    const fixture = await start(['--connections-per-identity', '2'])
    await using other = fixture.dial(await makeClient(fixture.authority, { commonName: 'bob' }))
    await other.system.version({}, soon())
    const clients = [fixture.dial(), fixture.dial(), fixture.dial()]
    for (const client of clients) await client.system.version({}, soon())
    await eventually(() => fixture.daemon.output().includes('connection evicted'))
    await other.system.version({}, soon())
    for (const client of clients) client.close()
  })
})
