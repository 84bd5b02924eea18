/** Short programs of the tools tree that a test needs, and ports that are free. */
import { execFile } from 'node:child_process'
import { createServer } from 'node:net'
import { promisify } from 'node:util'
import type { Tools } from './image.ts'

const run = promisify(execFile)

/** Runs a program of the tools tree. Throws what execFile throws, with stderr. */
export async function runTool(
  tools: Tools,
  command: readonly string[],
  options: { readonly binds: readonly string[]; readonly timeoutMs?: number },
): Promise<string> {
  const [program = '', ...args] = [...tools.command(options.binds), ...command]
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8', HOME: '/tmp' }
  const { stdout } = await run(program, args, {
    env,
    timeout: options.timeoutMs ?? 60_000,
    maxBuffer: 1 << 26,
  })
  return stdout
}

/** A TCP port of the loopback address that nobody listens on now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() =>
        typeof address === 'object' && address !== null
          ? resolve(address.port)
          : reject(new Error('no port')),
      )
    })
  })
}
