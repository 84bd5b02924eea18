import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeAuthority, type TestAuthority } from './authority.ts'
import { StandIn } from './stand-in.ts'
import { Terminal } from './stelectl.ts'

let authority: TestAuthority
let stranger: TestAuthority
let terminal: Terminal
let node: StandIn

beforeAll(async () => {
  authority = await makeAuthority()
  stranger = await makeAuthority()
  terminal = await Terminal.open()
  node = await StandIn.start('cp-1', authority, { role: 1 })
})

afterAll(async () => {
  await node[Symbol.asyncDispose]()
  await terminal[Symbol.asyncDispose]()
})

describe('a certificate that is refused', () => {
  it.each([
    ['is of another authority', () => stranger.person('eve', ['stele:admin'])],
    [
      'has expired',
      () =>
        authority.person('ada', ['stele:admin'], {
          now: new Date(Date.now() - 864e5),
          lifetimeSeconds: 3600,
        }),
    ],
    ['is for serving only', () => authority.node('cp-2', ['127.0.0.1'])],
  ])('exits 3 and is not told as an unreachable node, when it %s (BR-055)', async (_why, person) => {
    await terminal.addContext('refused', [node], { authority: authority.certificate, person: await person() })
    const { exit, stderr, stdout } = await terminal.run('status', '--context', 'refused')
    expect(`${stdout}${stderr}`).not.toMatch(/unreachable/i)
    expect(stderr).toMatch(/^error: \w+: .*certificate/)
    expect(exit).toBe(3)
  })

  it('exits 3 when the node shows a certificate of another authority, and sends nothing', async () => {
    const person = await authority.person('ada', ['stele:admin'])
    await terminal.addContext('wrong-ca', [node], { authority: stranger.certificate, person })
    const before = node.calls.length
    const { exit, stderr } = await terminal.run('status', '--context', 'wrong-ca')
    expect(stderr).toMatch(/certificate/)
    expect(exit).toBe(3)
    expect(node.calls.length).toBe(before)
  })

  it('exits 3 when the certificate is good and names another address', async () => {
    const pair = await authority.node('cp-9', ['10.0.0.9'])
    await using other = await StandIn.start('cp-9', authority, { pair })
    const person = await authority.person('ada', ['stele:admin'])
    await terminal.addContext('wrong-name', [other], { authority: authority.certificate, person })
    const { exit } = await terminal.run('status', '--context', 'wrong-name')
    expect(exit).toBe(3)
    expect(other.calls).toEqual([])
  })
})

describe('a node that cannot be reached', () => {
  it('exits 5 at a port where nobody listens', async () => {
    const person = await authority.person('ada', ['stele:admin'])
    const nobody = { name: 'gone-1', endpoint: '127.0.0.1:1' }
    await terminal.addContext('gone', [nobody], { authority: authority.certificate, person })
    const { exit, stderr } = await terminal.run('status', '--context', 'gone')
    expect(exit).toBe(5)
    expect(stderr).toMatch(/^error: UNAVAILABLE: /)
  })

  it('exits 5 by its deadline at a listener that stays silent (BR-060)', async () => {
    const silent = createServer(() => undefined).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    try {
      const person = await authority.person('ada', ['stele:admin'])
      const quiet = { name: 'quiet', endpoint: `127.0.0.1:${port}` }
      await terminal.addContext('silent', [quiet], { authority: authority.certificate, person })
      expect((await terminal.run('status', '--context', 'silent', '--timeout', '500ms')).exit).toBe(5)
    } finally {
      silent.close()
    }
  })
})

describe('an IPv6 node', () => {
  it('is dialled and verified by its address (BR-056)', async () => {
    await using six = await StandIn.start('six', authority, { host: '::1' })
    const person = await authority.person('ada', ['stele:admin'])
    await terminal.addContext('six', [six], { authority: authority.certificate, person })
    expect(await terminal.run('status', '--context', 'six')).toMatchObject({ exit: 0, stderr: '' })
  })
})
