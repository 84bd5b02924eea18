import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parseCoreFlags } from '../../../../agent/core/flags.ts'

const uidOf = (name: string) => (name === 'stele-gateway' ? 911 : undefined)
const good = [
  ...['--platform', 'linux', '--directory', '/var/lib/stele', '--gateway-port', '50000'],
  ...['--trust-port', '50001', '--peer-uid', 'gateway=stele-gateway', '--peer-uid', 'trust=912'],
]

describe('parseCoreFlags on a real host', () => {
  it('leaves name and addresses to the host, and takes users by name', () => {
    expect(parseCoreFlags(good, 0, uidOf)).toEqual({
      linux: { runDirectory: '/run/stele' },
      directory: '/var/lib/stele',
      name: '',
      addresses: [],
      gatewayPort: 50000,
      trustPort: 50001,
      userData: [],
      peerUids: { gateway: 911, trust: 912 },
    })
  })

  it('takes a name and addresses that are given, and a run directory', () => {
    const more = ['--name', 'cp-1', '--address', '10.0.0.1', '--run-directory', '/run/x']
    expect(parseCoreFlags([...good, ...more], 0, uidOf)).toMatchObject({
      linux: { runDirectory: '/run/x' },
      name: 'cp-1',
      addresses: ['10.0.0.1'],
    })
  })

  it.each([
    ['--address', 'cp-1'],
    ['--peer-uid', 'gateway=nobody-here'],
    ['--peer-uid', 'gateway=-1'],
    ['--platform', 'windows'],
  ])('refuses %s %s', (flag, value) => {
    expect(() => parseCoreFlags([...good, flag, value], 0, uidOf)).toThrow(
      expect.objectContaining({ code: 'flag_invalid' }),
    )
  })

  it('takes the flags of the unit in the image', () => {
    const unit = readFileSync('images/root/usr/lib/systemd/system/stele-core.service', 'utf8')
    const [, line = ''] = /^ExecStart=\S+ \S+ (.*)$/m.exec(unit) ?? []
    expect(parseCoreFlags(line.split(' '), 0, uidOf)).toMatchObject({
      linux: { runDirectory: '/run/stele' },
      directory: '/var/lib/stele',
      peerUids: { gateway: 911, trust: 912 },
    })
  })
})
