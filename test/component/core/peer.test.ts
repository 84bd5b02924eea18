import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadPeerCheck } from '../../../agent/core/peer.ts'
import { listenUnix } from '../../../agent/core/unix-listener.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'stele-peer-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const lines: string[] = []
const log = {
  info: () => undefined,
  warn: (line: string) => void lines.push(line),
  error: (line: string) => void lines.push(line),
  child: () => log,
}
const own = process.getuid?.() ?? 0

describe('a unix socket of core', () => {
  it('knows the process at the other end, and takes the uid that it waits for', async () => {
    const path = join(directory, 'run', 'one.sock')
    const peer = loadPeerCheck()
    const seen: unknown[] = []
    await using _door = await listenUnix({
      path,
      uid: own,
      log,
      peer,
      accept: (socket) => {
        seen.push(peer(socket))
        socket.end('hello')
      },
    })
    const socket = connect(path)
    expect(String((await once(socket, 'data'))[0])).toBe('hello')
    expect(seen).toEqual([{ pid: process.pid, uid: own, gid: process.getgid?.() }])
    expect(statSync(path).mode & 0o777).toBe(0o660)
    socket.destroy()
  })

  it('closes on any other uid before a byte is read', async () => {
    const path = join(directory, 'two.sock')
    const accepted: Socket[] = []
    await using _door = await listenUnix({
      path,
      uid: own + 1,
      log,
      peer: loadPeerCheck(),
      accept: (socket) => accepted.push(socket),
    })
    const socket = connect(path)
    socket.on('error', () => undefined)
    socket.write('x')
    await new Promise((resolve) => socket.once('close', resolve))
    expect(accepted).toEqual([])
    expect(lines).toContain('peer refused')
  })

  it('closes when the peer cannot be known', async () => {
    const path = join(directory, 'three.sock')
    const accepted: Socket[] = []
    const broken = () => {
      throw new Error('no answer')
    }
    await using _door = await listenUnix({
      path,
      uid: own,
      log,
      peer: broken,
      accept: (socket) => accepted.push(socket),
    })
    const socket = connect(path)
    await once(socket, 'close')
    expect(accepted).toEqual([])
    expect(lines).toContain('peer unknown')
  })

  it('takes the place of a socket that a killed core left', async () => {
    const path = join(directory, 'four.sock')
    const options = {
      path,
      uid: own,
      log,
      peer: loadPeerCheck(),
      accept: (socket: Socket) => void socket.end(),
    }
    const first = await listenUnix(options)
    await using _second = await listenUnix(options)
    const socket = connect(path)
    await once(socket, 'connect')
    socket.destroy()
    await first[Symbol.asyncDispose]()
  })
})
