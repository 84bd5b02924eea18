/** One command at a time for a cluster. The lock is a name that the kernel frees with its process, so that no kill leaves it behind. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { CliFault } from '../fault.ts'

/** Holds the lock of a folder until it is closed. Throws CliFault `cluster_busy` when another process has it. */
export async function lockCluster(path: string): Promise<AsyncDisposable> {
  const name = createHash('sha256').update(path).digest('hex').slice(0, 32)
  const server = createServer((socket) => socket.destroy())
  try {
    // The abstract namespace of unix(7): no file, and gone with the socket.
    server.listen(`\0stele-cluster-${name}`)
    await once(server, 'listening')
  } catch (cause) {
    throw new CliFault('cluster_busy', 'another stelectl is at work on this cluster', {
      hint: 'wait for it, or end it: what it began can be gone on with',
      cause,
    })
  }
  server.unref()
  return { [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())) }
}
