import { once } from 'node:events'
import { createServer } from 'node:net'

/** A port that was free a moment ago on this address. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  const server = createServer()
  server.listen({ host, port: 0 })
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (typeof address !== 'object' || address === null) throw new Error('no address')
  return address.port
}
