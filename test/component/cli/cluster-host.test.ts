/** What a cluster of machines takes of its host: ports, a wire, a lock. The sockets are real. */
import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { lockCluster } from '../../../agent/cli/cluster/lock.ts'
import { freePort, freePorts, freeWire } from '../../../agent/cli/cluster/port.ts'

const HOST = '127.0.0.1'
const REPOSITORY = join(import.meta.dirname, '../../..')

async function takePort(): Promise<{ readonly port: number } & AsyncDisposable> {
  const server = createServer().listen(0, HOST)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // a TCP server that listens has one
  return { port, [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())) }
}

describe('ports for machines', () => {
  it('are those of last time where they are free, and others where somebody has them', async () => {
    const freed = await takePort()
    await freed[Symbol.asyncDispose]()
    expect(await freePort(HOST, freed.port)).toBe(freed.port)
    await using taken = await takePort()
    expect(await freePort(HOST, taken.port)).not.toBe(taken.port)
  })

  it('are no two the same, also when the same was wanted twice', async () => {
    const wanted = await freePort(HOST, 0)
    const ports = await freePorts(HOST, [wanted, wanted, 0, 0, 0])
    expect(ports[0]).toBe(wanted)
    expect(new Set(ports).size).toBe(5)
  })

  it('cannot be had on an address that is not of this host', async () => {
    await expect(freePort('192.0.2.1', 0)).rejects.toThrow(/no port can be bound/)
  })
})

describe('a wire for machines', () => {
  it('is another one when a socket or another cluster has it', async () => {
    const socket = createSocket('udp4')
    socket.bind(0)
    await once(socket, 'listening')
    const { port } = socket.address()
    expect(await freeWire(port, [])).not.toBe(port)
    await new Promise<void>((resolve) => socket.close(() => resolve()))
    expect(await freeWire(port, [])).toBe(port)
    expect(await freeWire(port, [port])).not.toBe(port)
  })
})

describe('the lock of a cluster', () => {
  it('is for one at a time, and for each cluster its own', async () => {
    const held = await lockCluster('/clusters/one')
    await expect(lockCluster('/clusters/one')).rejects.toMatchObject({ code: 'cluster_busy' })
    await using _other = await lockCluster('/clusters/two')
    await held[Symbol.asyncDispose]()
    await using _again = await lockCluster('/clusters/one')
  })

  it('is free as soon as the process that had it is killed', async () => {
    const path = '/clusters/killed'
    const script = `import { lockCluster } from './agent/cli/cluster/lock.ts'
      await lockCluster(${JSON.stringify(path)}); console.log('held'); setInterval(() => {}, 1e6)`
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      cwd: REPOSITORY,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(child.stdout, 'data')
    await expect(lockCluster(path)).rejects.toMatchObject({ code: 'cluster_busy' })
    child.kill('SIGKILL')
    await once(child, 'exit')
    await using _free = await lockCluster(path)
  })
})
