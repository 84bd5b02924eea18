import { createServer, type RequestListener, type Server } from 'node:http'
import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../agent/kit/clock.ts'
import { httpSource } from '../../../agent/core/local/user-data-http.ts'

let server: Server | undefined
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

/** Sleeps are over at once: the back-off itself is tested in the kit. */
const clock = { ...systemClock, sleep: async () => undefined }

async function serve(listener: RequestListener): Promise<URL> {
  server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return new URL(`http://127.0.0.1:${address.port}/user-data`)
}

const read = (url: URL) => httpSource(url, clock).read({ signal: AbortSignal.timeout(10_000) })

describe('user data over http', () => {
  it('reads it, and shows a location without credentials and query', async () => {
    const url = await serve((request, response) => response.end(request.headers.authorization))
    url.username = 'name'
    url.password = 'marker'
    url.search = '?token=marker'
    const source = httpSource(url, clock)
    expect(source.location).not.toContain('marker')
    const content = await source.read({ signal: AbortSignal.timeout(10_000) })
    expect(content).toMatchObject({ kind: 'data' })
    expect('bytes' in content && content.bytes.toString()).toBe(
      `Basic ${Buffer.from('name:marker').toString('base64')}`,
    )
  })

  it('takes 404 as absent', async () => {
    const url = await serve((_request, response) => response.writeHead(404).end())
    expect(await read(url)).toEqual({ kind: 'absent' })
  })

  it('waits for a source that is not ready', async () => {
    let calls = 0
    const url = await serve((_request, response) => {
      calls += 1
      response.writeHead([503, 429, 200][calls - 1] ?? 500).end('text')
    })
    expect(await read(url)).toMatchObject({ kind: 'data' })
  })

  it('refuses 403 at once', async () => {
    let calls = 0
    const url = await serve((_request, response) => {
      calls += 1
      response.writeHead(403).end()
    })
    await expect(read(url)).rejects.toMatchObject({ code: 'source_unreachable' })
    expect(calls).toBe(1)
  })

  it('stops reading beyond 1 MiB, however much is sent', async () => {
    const url = await serve((_request, response) => {
      const chunk = Buffer.alloc(64 * 1024, 'x')
      const pump = () => {
        while (response.write(chunk));
      }
      response.on('drain', pump)
      pump()
    })
    await expect(read(url)).rejects.toMatchObject({ code: 'source_invalid' })
  })

  it('follows three redirects and no fourth', async () => {
    let hops = 3
    const url = await serve((_request, response) => {
      hops -= 1
      if (hops >= 0) response.writeHead(302, { location: '/again' }).end()
      else response.end('text')
    })
    expect(await read(url)).toMatchObject({ kind: 'data' })
    hops = 4
    await expect(read(url)).rejects.toMatchObject({ code: 'source_unreachable' })
  })

  it('does not send credentials to another origin', async () => {
    const seen: (string | undefined)[] = []
    const url = await serve((request, response) => {
      seen.push(request.headers.authorization)
      if (seen.length === 1) response.writeHead(302, { location: `http://localhost:${url.port}/other` }).end()
      else response.writeHead(404).end()
    })
    url.username = 'name'
    await read(url)
    expect(seen).toEqual([expect.stringContaining('Basic'), undefined])
  })

  it('ends with its signal when the server never answers', async () => {
    const url = await serve(() => undefined)
    const stop = new AbortController()
    const reading = httpSource(url, clock).read({ signal: stop.signal })
    stop.abort(new Error('enough'))
    await expect(reading).rejects.toThrow('enough')
  })
})
