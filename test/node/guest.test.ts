/** What a booted node lets anyone do to it, asked by the API alone and by its ports. Needs an image and QEMU. */
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { GetIntegrityResponse } from '#api'
import { Lifetime } from '#kit/lifetime'
import type { ClientTls } from '#rpc'
import { judgeIntegrity } from '../../agent/cli/integrity.ts'
import type { Image } from '../../agent/cli/machine/image.ts'
import type { Machine } from '../../agent/cli/machine/machine.ts'
import { Terminal } from '../component/cli/stelectl.ts'
import { call, GATEWAY, makeCluster, ready } from './cluster.ts'
import { startMachine } from './machine.ts'
import { BOOT_MS, imageUnderTest } from './under-test.ts'

const name = 'cp-1'
const TRUST = 50_001
/** What would be open if something were: remote shells, the kubelet, name and RPC services, and ports beside ours. */
const CLOSED = [22, 23, 80, 111, 443, 2375, 5355, 9090, 10_250, 49_999, 50_002]

const lifetime = new Lifetime()
let folder: string
let image: Image
let machine: Machine
let tls: ClientTls
let answer: GetIntegrityResponse
let terminal: Terminal
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'node-'))
  lifetime.onClose(() => rmSync(folder, { recursive: true, force: true }))
  image = imageUnderTest()
  const cluster = await makeCluster(['10.0.2.15:50001'])
  const ports = [GATEWAY, TRUST, ...CLOSED]
  const needs = { boot: 'kernel', name, folder, ports, userData: cluster.userDataOf(name) } as const
  // The journal, where PID 1 tells what it uses, on the console.
  const commandLine = `${image.commandLine} systemd.journald.forward_to_console=1`
  machine = await startMachine({ ...needs, image: { ...image, commandLine } })
  lifetime.onClose(() => machine.powerCut())
  tls = await cluster.tlsFor(name)
  await ready(machine, tls)
  const reader: ClientTls = await cluster.tlsFor(name, 'stele:reader')
  answer = await call(machine, reader, ({ integrity }, options) => integrity.getIntegrity({}, options), {
    deadlineMs: 120_000,
  })
  terminal = await Terminal.open()
  lifetime.onClose(() => terminal[Symbol.asyncDispose]())
  const endpoint = `127.0.0.1:${machine.port(GATEWAY)}`
  await terminal.addContext('guest', [{ name, endpoint, serverName: name }], {
    authority: reader.authorities.join(''),
    person: { certificate: reader.certificate ?? '', privateKey: reader.privateKey ?? '' },
  })
}, 2 * BOOT_MS)
afterAll(() => lifetime[Symbol.asyncDispose]())

describe('a booted node, asked by a reader', () => {
  it('tells every part: nothing is unknown', () => {
    expect(answer.unknowns).toEqual([])
  })

  it('refuses a file anywhere on its root, and to make the root writable, as a file system and not as a sandbox', () => {
    expect(answer.probes).toEqual([
      { action: 'create', path: '/', error: 'EROFS' },
      { action: 'create', path: '/usr', error: 'EROFS' },
      { action: 'create', path: '/etc', error: 'EROFS' },
      { action: 'remount', path: '/', error: expect.stringMatching(/^(EROFS|EACCES)$/) as string },
    ])
    expect(answer.mounts).toEqual([
      expect.objectContaining({
        path: '/',
        type: 'erofs',
        fileSystemReadOnly: true,
        mountReadOnly: true,
      }),
    ])
  })

  it('verifies its root with the hash of the manifest', () => {
    expect(answer.verity).toMatchObject({
      algorithm: 'sha256',
      rootHash: image.manifest.rootHash,
      intact: true,
    })
  })

  it('has the programs of the manifest and no other: no shell, no package manager, no script, nothing setuid', () => {
    expect(answer.programs).toEqual({
      executables: [...image.manifest.executables].sort(),
      scripts: [],
      interpreters: [],
      packageManagers: [],
      setuid: [],
    })
  })

  it('gives no process of ours but core a capability', () => {
    const others = answer.processes.filter(({ unit }) => unit !== 'stele-core.service')
    expect(new Set(others.map(({ unit }) => unit))).toEqual(
      new Set(['stele-gateway.service', 'stele-trust.service']),
    )
    for (const process of others) {
      expect(process).toMatchObject({ effective: [], permitted: [], bounding: [] })
      expect(process).toMatchObject({ noNewPrivileges: true, systemCallsFiltered: true })
      expect(process.uid).not.toBe(0)
    }
  })

  it('exposes gateway and trust by 2.0 at most, as systemd counts it', () => {
    const exposed = new Map(answer.exposures.map(({ unit, tenths }) => [unit, tenths]))
    expect(exposed.get('stele-gateway.service')).toBeLessThanOrEqual(20)
    expect(exposed.get('stele-trust.service')).toBeLessThanOrEqual(20)
  })

  it('runs a kernel that is locked down and takes only signed modules', () => {
    expect(answer.kernel).toMatchObject({ lockdown: 'integrity', modulesSigned: true })
  })

  it('is reset by a watchdog when it hangs', async () => {
    await machine.console.waitFor(/Using hardware watchdog 'i6300ESB timer'/, { deadlineMs: BOOT_MS })
  })

  it('is judged without fault by what stelectl integrity --manifest says', () => {
    const verdicts = judgeIntegrity(answer, image.manifest)
    expect(verdicts.filter(({ verdict }) => verdict !== 'ok')).toEqual([])
  })
})

describe('stelectl integrity', { timeout: BOOT_MS }, () => {
  const manifest = () => join(image.folder, 'manifest.json')

  it('finds the node to be the image of its manifest, and exits 0', async () => {
    const { exit, stdout, stderr } = await terminal.run('integrity', '--manifest', manifest())
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
    expect(stdout).toMatch(new RegExp(`^cp-1 +root hash of the image +ok +${image.manifest.rootHash}$`, 'm'))
    expect(stdout).not.toMatch(/ (unknown|violated) /)
  })

  it('finds it to be another than that of a changed manifest, says in what, and exits 8', async () => {
    const other = join(folder, 'other.json')
    const written = JSON.parse(readFileSync(manifest(), 'utf8')) as object // replaced below, field by field
    const rootHash = 'ab'.repeat(32)
    writeFileSync(
      other,
      JSON.stringify({ ...written, rootHash, executables: ['usr/bin/node', 'usr/bin/gone'] }),
    )
    const { exit, stdout } = await terminal.run('integrity', '--manifest', other)
    expect(exit).toBe(8)
    expect(stdout).toMatch(
      /^cp-1 +root hash of the image +violated +the node has [0-9a-f]{64}, the manifest abab/m,
    )
    expect(stdout).toMatch(/^cp-1 +programs of the image +violated .*-usr\/bin\/gone/m)
  })
})

describe('its ports', { timeout: BOOT_MS }, () => {
  it('are the API and trust; every other refuses', async () => {
    const probes = await Promise.all(
      [GATEWAY, TRUST, ...CLOSED].map((port) => probe(machine.port(port), port)),
    )
    // Each refusal goes the way that this answer goes, before it.
    await call(machine, tls, ({ system }, options) => system.getStatus({}, options))
    await call(machine, tls, ({ system }, options) => system.getStatus({}, options))
    const open = probes.filter(({ socket }) => !socket.destroyed && !socket.readableEnded)
    for (const { socket } of probes) socket.destroy()
    expect(open.map(({ port }) => port)).toEqual([GATEWAY, TRUST])
  })
})

/**
 * A connection that says nothing. User networking takes every connection itself and ends it when the guest refuses, so a port is open when its connection
 * stays, whatever its protocol.
 */
async function probe(at: number, port: number): Promise<{ readonly socket: Socket; readonly port: number }> {
  const socket = connect({ host: '127.0.0.1', port: at })
  socket.on('error', () => socket.destroy())
  socket.resume()
  await once(socket, 'connect')
  return { socket, port }
}
