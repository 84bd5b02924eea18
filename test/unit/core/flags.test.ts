import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parseCoreFlags } from '../../../agent/core/flags.ts'
import { VERSION } from '../../../agent/core/version.ts'

const good = [
  '--platform',
  'local',
  '--directory',
  '/n',
  '--name',
  'cp-1',
  '--address',
  '127.0.0.1',
  '--gateway-port',
  '50000',
  '--trust-port',
  '50001',
]

describe('parseCoreFlags', () => {
  it('takes what init passes', () => {
    expect(
      parseCoreFlags([...good, '--address', '::1', '--user-data', '/seed', '--peer-uid', 'gateway=901'], 0),
    ).toEqual({
      directory: '/n',
      name: 'cp-1',
      addresses: ['127.0.0.1', '::1'],
      gatewayPort: 50000,
      trustPort: 50001,
      userData: ['/seed'],
      peerUids: { gateway: 901, trust: 0 },
    })
  })

  it.each([
    [[...good, '--more']],
    [good.slice(2)],
    [good.map((one) => (one === '50000' ? '0' : one))],
    [good.map((one) => (one === '127.0.0.1' ? 'localhost' : one))],
    [[...good, '--peer-uid', 'core=0']],
    [[...good, '--peer-uid', 'gateway=root']],
  ])('refuses %j', (args) => {
    expect(() => parseCoreFlags(args, 0)).toThrow(expect.objectContaining({ code: 'flag_invalid' }))
  })
})

describe('VERSION', () => {
  it('is that of package.json', () => {
    const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
    expect(VERSION).toBe(manifest.version)
  })
})
