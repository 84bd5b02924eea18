import { createServer, type AddressInfo } from 'node:net'

/** Returns `wanted` when it can be bound on `host`, else a port that the kernel chose. Throws when the address itself cannot be bound. */
export async function freePort(host: string, wanted: number): Promise<number> {
  return (
    (await probe(host, wanted)) ??
    (await probe(host, 0)) ??
    Promise.reject(new Error(`no port can be bound on ${host}`))
  )
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
