import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createClusterSecrets, issueAdminCertificate, loadAuthority } from '#pki'
import { chooseContextFile } from '../../../agent/cli/cluster/demo-contexts.ts'
import { mergeContext, type Context } from '../../../agent/cli/context.ts'

describe('the contexts of npm start', () => {
  let folder: string
  let personal: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'stele-contexts-'))
    personal = join(folder, 'config.yaml')
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  async function contextAt(endpoint: string, commonName = 'demo-reader'): Promise<Context> {
    const now = new Date()
    const { nodeCa } = await createClusterSecrets({ now })
    const authority = loadAuthority(nodeCa)
    if (!authority.ok) throw authority.error
    const issued = await issueAdminCertificate({
      authority: authority.value,
      commonName,
      roles: ['stele:reader'],
      now,
    })
    const pair = { certificate: issued.certificatePem, privateKey: issued.privateKeyPem }
    return { nodes: [{ name: 'cp-1', endpoint }], authorities: nodeCa.certificatePem, ...pair }
  }

  it('go into the person’s file when that has none of these names', async () => {
    await mergeContext(personal, 'prod', await contextAt('10.9.9.9:50000'))
    expect(await chooseContextFile(personal, 'own')).toBe(personal)
  })

  it('never replace a context of that name that is somebody’s', async () => {
    await mergeContext(personal, 'demo', await contextAt('10.9.9.9:50000'))
    expect(await chooseContextFile(personal, 'own')).toBe('own')
  })

  it('never replace a context of a cluster of machines that is turned off', async () => {
    await mergeContext(personal, 'demo', await contextAt('127.0.0.1:1', 'cluster-admin'))
    expect(await chooseContextFile(personal, 'own')).toBe('own')
    await mergeContext(personal, 'demo', await contextAt('127.0.0.1:1', 'demo-admin'))
    expect(await chooseContextFile(personal, 'own')).toBe(personal)
  })

  it('never replace those of another run that is still up', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    await mergeContext(personal, 'reader', await contextAt(`127.0.0.1:${port}`))
    expect(await chooseContextFile(personal, 'own')).toBe('own')
    await new Promise((resolve) => server.close(resolve))
    expect(await chooseContextFile(personal, 'own')).toBe(personal)
  })
})
