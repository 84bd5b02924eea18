import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { linuxHost, settingPath } from '../../../../agent/core/linux/host.ts'
import { diskFileSystem } from '../../../../agent/core/store/file-system.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'host-'))
  for (const path of ['sys/kernel', 'sys/net/ipv4', 'allowed', 'outside'])
    mkdirSync(join(root, path), { recursive: true })
  writeFileSync(join(root, 'sys/kernel/hostname'), 'localhost\n')
  writeFileSync(join(root, 'sys/net/ipv4/ip_forward'), '0\n')
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

function host() {
  const refused: string[][] = []
  const port = linuxHost({
    files: diskFileSystem,
    onRefused: (settings) => refused.push([...settings]),
    settingsRoot: join(root, 'sys'),
    allowed: [join(root, 'allowed')],
  })
  return { port, refused }
}

describe('settingPath', () => {
  it.each([
    ['net.ipv4.ip_forward', 'net/ipv4/ip_forward'],
    ['net/ipv4/conf/eth0.100/forwarding', 'net/ipv4/conf/eth0.100/forwarding'],
    ['net.ipv4.conf.eth0/100.forwarding', 'net/ipv4/conf/eth0.100/forwarding'],
    ['kernel', undefined],
    ['../../etc/passwd', undefined],
    ['net..ipv4', undefined],
    ['net/../../x', undefined],
    ['', undefined],
  ])('of %j', (name, path) => expect(settingPath(name)).toBe(path))
})

describe('linuxHost', () => {
  it('sets name and kernel settings, and tells which were refused', () => {
    const { port, refused } = host()
    symlinkSync(join(root, 'outside'), join(root, 'sys/net/link'))
    writeFileSync(join(root, 'outside/x'), 'kept')
    port.applySettings({
      hostname: 'cp-1',
      sysctls: { 'net.ipv4.ip_forward': '1', 'vm.no_such': '1', 'net.link.x': 'taken' },
    })
    expect(readFileSync(join(root, 'sys/kernel/hostname'), 'utf8')).toBe('cp-1\n')
    expect(readFileSync(join(root, 'sys/net/ipv4/ip_forward'), 'utf8')).toBe('1\n')
    expect(readFileSync(join(root, 'outside/x'), 'utf8')).toBe('kept')
    expect(refused).toEqual([['vm.no_such', 'net.link.x']])
    port.applySettings({ hostname: 'cp-1', sysctls: {} })
    expect(refused.at(-1)).toEqual([])
  })

  it('writes files below the allowed folders with their mode', () => {
    const path = join(root, 'allowed/deep/file')
    host().port.writeFiles([{ path, content: Buffer.from('x'), mode: 0o640 }])
    expect(readFileSync(path, 'utf8')).toBe('x')
    expect(statSync(path).mode & 0o777).toBe(0o640)
  })

  it('refuses files outside them, by path or by link', () => {
    const { port } = host()
    symlinkSync(join(root, 'outside'), join(root, 'allowed/link'))
    for (const path of ['outside/x', 'allowed/../outside/x', 'allowed/link/x', 'allowedx']) {
      const file = { path: `${root}/${path}`, content: Buffer.from('x'), mode: 0o600 }
      expect(() => port.writeFiles([file])).toThrow(expect.objectContaining({ code: 'file_refused' }))
    }
  })
})
