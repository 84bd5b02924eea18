/**
 * The root of a node under User-Mode Linux: from user data to an answering API, and again after a power cut. Needs root, the folder of a build of
 * `uml-amd64` in STELE_UML_IMAGE or .build/image-uml, and is skipped where neither is.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as tlsConnect } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { agentServices, type NodeStatus } from '#api'
import { systemClock } from '#kit/clock'
import { unwrap, type Result } from '#kit/result'
import { createClusterSecrets, issueAdminCertificate, loadAuthority, type ClusterSecrets } from '#pki'
import { parseManifests, renderAll } from '#render'
import { connect, type Client, type ClientTls } from '#rpc'
import type { Machine } from '../../agent/cli/machine/machine.ts'
import { startUml } from '../../agent/cli/machine/uml.ts'
import { openUmlImage } from '../../agent/cli/machine/uml-image.ts'
import { eventually } from '../support/wait.ts'
import { REPOSITORY, toolsUnderTest } from './under-test.ts'

const folderOfImage = process.env['STELE_UML_IMAGE'] ?? join(REPOSITORY, '.build/image-uml')
const isWanted = process.env['STELE_UML_IMAGE'] !== undefined || existsSync(folderOfImage)
/** Ten times a quiet machine's. */
const READY_MS = 150_000
const GATEWAY = 50_000
const NAME = 'cp-1'

let folder: string
let secrets: ClusterSecrets
let tls: ClientTls
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'uml-'))
  secrets = await createClusterSecrets({ now: systemClock.now() })
  const authority = unwrap(loadAuthority(secrets.nodeCa))
  const issued = await issueAdminCertificate({
    authority,
    commonName: 'test',
    roles: ['stele:admin'],
    now: systemClock.now(),
  })
  tls = {
    authorities: [secrets.nodeCa.certificatePem],
    certificate: issued.certificatePem,
    privateKey: issued.privateKeyPem,
    serverName: NAME,
    expectedNode: NAME,
  }
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function valid<T>(result: Result<T, unknown>): T {
  if (!result.ok) throw new Error(JSON.stringify(result.error))
  return result.value
}

function userData(): string {
  const file = join(REPOSITORY, 'bootstrap-provider/examples/cluster.yaml')
  const manifests = valid(parseManifests(readFileSync(file, 'utf8'), { file }))
  const rendered = valid(renderAll(manifests, secrets, { trustEndpoints: ['10.0.2.15:50001'] }))
  const found = rendered.find(({ machineName }) => machineName === NAME)
  if (found === undefined) throw new Error(`the example manifests have no ${NAME}`)
  return found.userData
}

type System = Client<typeof agentServices>['system']

/** One call to the node by the forwarded port, on a connection of its own. */
async function call<T>(
  machine: Machine,
  use: (system: System, options: { readonly signal: AbortSignal }) => Promise<T>,
): Promise<T> {
  const endpoint = { host: '127.0.0.1', port: machine.port(GATEWAY) }
  await using client = connect(agentServices, { endpoint, tls })
  return await use(client.system, { signal: AbortSignal.timeout(5000) })
}

/** The status of the node as soon as all its services run. */
function ready(machine: Machine): Promise<NodeStatus> {
  const ask = async () => {
    const { status } = await call(machine, (system, options) => system.getStatus({}, options))
    return status !== undefined && status.servicesTotal > 0 && status.servicesRunning === status.servicesTotal
      ? status
      : undefined
  }
  return eventually(ask, { deadlineMs: READY_MS, everyMs: 250, what: 'the API of the node' })
}

/** Numbers of the processes whose command names `word`. */
function processesOf(word: string): readonly string[] {
  return readdirSync('/proc').filter((number) => {
    if (!/^\d+$/.test(number)) return false
    try {
      return readFileSync(`/proc/${number}/cmdline`, 'utf8').includes(word)
    } catch {
      // It ended while we looked.
      return false
    }
  })
}

/** SHA-256 of the public key that the node proves to have. */
function nodeKey(machine: Machine): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = tlsConnect(
      {
        ...{ host: '127.0.0.1', port: machine.port(GATEWAY), servername: NAME, ALPNProtocols: ['h2'] },
        ...{ ca: [...tls.authorities], cert: tls.certificate, key: tls.privateKey },
      },
      () => {
        const certificate = socket.getPeerX509Certificate()
        socket.destroy()
        if (certificate === undefined) return reject(new Error('the node showed no certificate'))
        resolve(
          createHash('sha256')
            .update(certificate.publicKey.export({ format: 'der', type: 'spki' }))
            .digest('hex'),
        )
      },
    )
    socket.once('error', reject)
  })
}

describe.skipIf(!isWanted)('a node under User-Mode Linux', () => {
  it(
    'answers with what its user data says, and is the same node after a power cut',
    { timeout: 3 * READY_MS },
    async () => {
      const image = openUmlImage(folderOfImage)
      const tools = toolsUnderTest()
      const needs = { name: NAME, folder, ports: [GATEWAY], userData: userData() }
      const boot = async () => {
        await using machine = await startUml(image, tools, needs)
        const began = performance.now()
        const status = await ready(machine)
        process.stdout.write(
          `uml: all services run after ${((performance.now() - began) / 1000).toFixed(1)} s\n`,
        )
        const key = await nodeKey(machine)
        expect(machine.console.lines().join('\n')).not.toMatch(/Kernel panic|emergency mode/i)
        await machine.powerCut()
        return { status, key }
      }
      const first = await boot()
      expect(first.status).toMatchObject({ node: NAME, configRevision: 1n })
      const second = await boot()
      expect(second.key).toBe(first.key)
      expect(second.status).toMatchObject({ node: NAME, configDigest: first.status.configDigest })
      expect(second.status.bootId).not.toBe(first.status.bootId)
    },
  )

  it('runs again after a reboot, and ends when it is shut down', { timeout: 3 * READY_MS }, async () => {
    const needs = { name: 'power', folder, ports: [GATEWAY], userData: userData() }
    await using machine = await startUml(openUmlImage(folderOfImage), toolsUnderTest(), needs)
    const before = await ready(machine)
    await call(machine, (system, options) => system.reboot({}, options))
    const after = await eventually(
      async () => {
        const status = await ready(machine)
        return status.bootId === before.bootId ? undefined : status
      },
      { deadlineMs: READY_MS, everyMs: 250, what: 'another boot' },
    )
    expect(after).toMatchObject({ node: NAME, configDigest: before.configDigest })
    await call(machine, (system, options) => system.shutdown({}, options))
    await machine.ended
  })

  it('leaves no process and no way in after a power cut', { timeout: READY_MS }, async () => {
    const needs = { name: 'gone', folder, ports: [GATEWAY] }
    const machine = await startUml(openUmlImage(folderOfImage), toolsUnderTest(), needs)
    await machine.console.waitFor(/Reached target/, { deadlineMs: READY_MS })
    expect(processesOf(folder)).not.toEqual([])
    const port = machine.port(GATEWAY)
    await machine.powerCut()
    expect(processesOf(folder)).toEqual([])
    const socket = tlsConnect({ host: '127.0.0.1', port, rejectUnauthorized: false })
    await expect(new Promise((_, reject) => socket.once('error', reject))).rejects.toThrow(/ECONNREFUSED/)
  })
})
