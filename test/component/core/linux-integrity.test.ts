/** Probes and the search for programs against real files, and the whole measurement against the kernel that runs the test. */
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LinuxFault } from '../../../agent/core/linux/fault.ts'
import { probeCreate } from '../../../agent/core/linux/integrity/probe.ts'
import { parseStatus, socketOwners } from '../../../agent/core/linux/integrity/process.ts'
import { programsOn } from '../../../agent/core/linux/integrity/program.ts'
import { parseSockets } from '../../../agent/core/linux/integrity/socket.ts'

let root: string
const signal = new AbortController().signal
const runtime = '/usr/bin/node'
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'integrity-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

function file(path: string, text: string, mode = 0o755): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
  chmodSync(join(root, path), mode)
}

describe('a probe', () => {
  it('that succeeds is told as a success, and leaves nothing behind', () => {
    expect(probeCreate('/', root)).toEqual({ action: 'create', path: '/', error: '' })
    expect(readdirSync(root)).toEqual([])
  })

  it('tells the name of the error that came', () => {
    expect(probeCreate('/none', root).error).toBe('ENOENT')
    file('plain', '')
    expect(probeCreate('/plain', root).error).toBe('ENOTDIR')
  })
})

describe('the programs on a root', () => {
  it('are what can run, by what they are: programs, scripts, and what their names say', async () => {
    file('usr/bin/node', '\u007fELF…')
    file('usr/bin/ip', '\u007fELF…')
    file('usr/lib/libc.so.6', '\u007fELF…')
    file('usr/share/data', '\u007fELF…', 0o644)
    file('opt/hidden/bash', '\u007fELF…')
    file('usr/bin/apt-get', '\u007fELF…')
    file('usr/bin/run-parts', '#!/bin/sh\n')
    file('usr/bin/su', '\u007fELF…', 0o4755)
    symlinkSync('node', join(root, 'usr/bin/sh'))
    symlinkSync('node', join(root, 'usr/share/sh'))
    expect(await programsOn(root, { runtime, signal })).toEqual({
      executables: ['opt/hidden/bash', 'usr/bin/apt-get', 'usr/bin/ip', 'usr/bin/node', 'usr/bin/su'],
      scripts: ['usr/bin/run-parts'],
      interpreters: ['opt/hidden/bash', 'usr/bin/sh'],
      packageManagers: ['usr/bin/apt-get'],
      setuid: ['usr/bin/su'],
    })
  })

  it('may be read while they are few, and are a fault beyond that', async () => {
    for (const name of ['a', 'b', 'c']) file(name, '')
    await expect(programsOn(root, { runtime, signal, maxEntries: 2 })).rejects.toThrow(LinuxFault)
    await expect(programsOn(root, { runtime, signal, maxEntries: 3 })).resolves.toBeDefined()
  })

  it('are sought neither behind a link nor on another file system', async () => {
    symlinkSync(root, join(root, 'again'))
    symlinkSync('/proc/self', join(root, 'process'))
    file('usr/bin/ip', '\u007fELF…')
    expect((await programsOn(root, { runtime, signal })).executables).toEqual(['usr/bin/ip'])
    // /dev is a file system of its own wherever these tests run.
    expect(lstatSync('/dev').dev).not.toBe(lstatSync('/').dev)
  })

  it('are not sought any longer once nobody waits', async () => {
    file('a', '')
    const gone = new Error('gone')
    await expect(programsOn(root, { runtime, signal: AbortSignal.abort(gone) })).rejects.toBe(gone)
  })
})

describe('the kernel that runs this test', () => {
  it('tells of this process what it may do, in the form that is parsed', () => {
    const status = parseStatus(readFileSync('/proc/self/status', 'utf8'))
    expect(status?.uid).toBe(process.geteuid?.())
  })

  it('tells of a socket that waits, and who holds it', async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = server.address() as AddressInfo // a TCP server has nothing else
      const sockets = parseSockets('tcp', readFileSync('/proc/net/tcp', 'utf8'))
      const found = sockets.find((socket) => socket.port === port)
      expect(found).toMatchObject({ address: '127.0.0.1' })
      const owners = socketOwners([
        { pid: 1, unit: 'init.scope' },
        { pid: process.pid, unit: 'this.service' },
      ])
      expect(owners.get(found?.inode ?? '')).toBe('this.service')
    } finally {
      server.close()
    }
  })
})
