import { createSocket } from 'node:dgram'
import { createServer, type AddressInfo } from 'node:net'

/** Returns `wanted` when it can be bound on `host`, else a port that the kernel chose. Throws when the address itself cannot be bound. */
export async function freePort(host: string, wanted: number): Promise<number> {
  return (
    (await probe(host, wanted)) ??
    (await probe(host, 0)) ??
    Promise.reject(new Error(`no port can be bound on ${host}`))
  )
}

/** As many ports of `host` as `wanted` has members, each its member where that can be bound, no two the same. */
export async function freePorts(host: string, wanted: readonly number[]): Promise<readonly number[]> {
  const ports: number[] = []
  for (const one of wanted) {
    let port = await freePort(host, ports.includes(one) ? 0 : one)
    while (ports.includes(port) || wanted.some((other) => other !== one && other === port)) {
      port = await freePort(host, 0)
    }
    ports.push(port)
  }
  return ports
}

/** Returns `wanted` when no socket has that UDP port and it is not among `taken`, else another of which that is true. */
export async function freeWire(wanted: number, taken: readonly number[]): Promise<number> {
  for (let port = await probeUdp(wanted); ; port = await probeUdp(0)) {
    if (port !== undefined && !taken.includes(port)) return port
  }
}

/** Bound without sharing, so that it fails where machines share the port already. */
function probeUdp(wanted: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const socket = createSocket({ type: 'udp4', reuseAddr: false })
    socket.once('error', () => socket.close(() => resolve(undefined)))
    socket.bind(wanted, () => {
      const { port } = socket.address()
      socket.close(() => resolve(port))
    })
  })
}

function probe(host: string, port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(undefined))
    server.listen({ host, port, exclusive: true }, () => {
      // A TCP server that listens has an address object, never a path.
      const { port: bound } = server.address() as AddressInfo
      server.close(() => resolve(bound))
    })
  })
}
