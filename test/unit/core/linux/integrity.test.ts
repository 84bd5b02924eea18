import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readAll } from '../../../../agent/core/linux/integrity/measure.ts'
import { probeRemount } from '../../../../agent/core/linux/integrity/probe.ts'
import { capabilities, parseStatus, unitOf } from '../../../../agent/core/linux/integrity/process.ts'
import {
  parseExposures,
  parseKernel,
  parseVerity,
  rootMounts,
} from '../../../../agent/core/linux/integrity/root.ts'
import { parseSockets } from '../../../../agent/core/linux/integrity/socket.ts'
import { LinuxFault } from '../../../../agent/core/linux/fault.ts'

const NONE = '0'.repeat(16)
const status = (fields: Readonly<Record<string, string>> = {}) =>
  Object.entries({
    Name: 'node',
    Uid: '997\t997\t997\t997',
    CapPrm: NONE,
    CapEff: NONE,
    CapBnd: NONE,
    NoNewPrivs: '1',
    Seccomp: '2',
    ...fields,
  })
    .map(([name, value]) => `${name}:\t${value}\n`)
    .join('')

describe('the status of a process', () => {
  it('names what it may do', () => {
    expect(parseStatus(status({ CapEff: '0000000000200001', Uid: '0\t0\t0\t0' }))).toEqual({
      uid: 0,
      effective: ['CAP_CHOWN', 'CAP_SYS_ADMIN'],
      permitted: [],
      bounding: [],
      noNewPrivileges: true,
      systemCallsFiltered: true,
    })
  })

  it.each(['Uid', 'CapPrm', 'CapEff', 'CapBnd', 'NoNewPrivs', 'Seccomp'])(
    'without %s is no answer: it would read as a process without rights',
    (field) => {
      expect(parseStatus(status().replace(new RegExp(`^${field}:.*\n`, 'm'), ''))).toBeUndefined()
    },
  )

  it('takes the effective user, not the one who started it', () => {
    expect(parseStatus(status({ Uid: '997\t0\t997\t997' }))?.uid).toBe(0)
  })

  it('counts every bit of a mask, those without a name too', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (mask) => {
        const bits = mask.toString(2).replaceAll('0', '').length
        expect(capabilities(mask.toString(16).padStart(16, '0'))).toHaveLength(bits)
      }),
    )
    expect(capabilities('8000010000000000')).toEqual(['CAP_CHECKPOINT_RESTORE', 'CAP_63'])
  })

  it.each([
    ['0::/system.slice/stele-core.service\n', 'stele-core.service'],
    ['0::/system.slice/containerd.service/sub\n', 'containerd.service'],
    ['0::/init.scope\n', 'init.scope'],
    ['0::/\n', ''],
    ['', ''],
  ])('belongs by %j to %j', (cgroup, unit) => expect(unitOf(cgroup)).toBe(unit))
})

const TABLE = `0 262144 verity 1 254:2 254:3 4096 4096 32768 1 sha256 ${'ab'.repeat(32)} ${'cd'.repeat(32)} 1 panic_on_corruption\n`

describe('the root', () => {
  it('is verified by what the kernel says', () => {
    expect(parseVerity(TABLE, '0 262144 verity V\n')).toEqual({
      algorithm: 'sha256',
      rootHash: 'ab'.repeat(32),
      intact: true,
    })
    expect(parseVerity(TABLE, '0 262144 verity C\n').intact).toBe(false)
  })

  it.each([
    ['0 262144 linear 254:2 0\n', '0 262144 linear \n'],
    ['', ''],
    [TABLE, ''],
    [TABLE + TABLE, '0 262144 verity V\n'],
  ])('is not verified by %j and %j', (table, state) => {
    expect(() => parseVerity(table, state)).toThrow(LinuxFault)
  })

  it('is one mount for / and /usr, and writable when its file system is, whatever the mount says', () => {
    const line = '21 1 254:0 / / ro,relatime shared:1 - erofs /dev/mapper/root ro,user_xattr\n'
    expect(rootMounts(line)).toEqual([
      {
        path: '/',
        type: 'erofs',
        source: '/dev/mapper/root',
        fileSystemReadOnly: true,
        mountReadOnly: true,
      },
    ])
    const over = '40 21 0:30 / /usr ro - overlay overlay rw,lowerdir=/usr\n'
    expect(rootMounts(line + over)).toMatchObject([
      { path: '/' },
      { path: '/usr', type: 'overlay', fileSystemReadOnly: false, mountReadOnly: true },
    ])
    expect(() => rootMounts('')).toThrow(LinuxFault)
  })

  it('is not touched by the probe where it is writable already, and made read-only again where the remount worked', () => {
    const asked: number[] = []
    const remount = (error: string) => (flags: number) => {
      asked.push(flags)
      return error
    }
    expect(probeRemount(false, remount(''))).toEqual({ action: 'remount', path: '/', error: '' })
    expect(asked).toEqual([])
    expect(probeRemount(true, remount('EACCES')).error).toBe('EACCES')
    expect(asked).toEqual([32])
    expect(probeRemount(true, remount('')).error).toBe('')
    expect(asked).toEqual([32, 32, 33])
  })
})

describe('the kernel', () => {
  const texts = { lockdown: 'none [integrity] confidentiality\n', signatures: 'Y\n', secureBoot: undefined }
  const variable = (value: number) => Buffer.from([6, 0, 0, 0, value])

  it('tells its lockdown, its modules and the firmware', () => {
    expect(parseKernel(texts)).toEqual({ lockdown: 'integrity', modulesSigned: true, secureBoot: undefined })
    expect(parseKernel({ ...texts, secureBoot: variable(1) }).secureBoot).toBe(true)
    expect(parseKernel({ ...texts, secureBoot: variable(0) }).secureBoot).toBe(false)
    expect(parseKernel({ ...texts, lockdown: '' }).lockdown).toBe('')
  })

  it('that does not say whether modules must be signed is not taken for one that checks', () => {
    expect(() => parseKernel({ ...texts, signatures: '' })).toThrow(LinuxFault)
  })
})

describe('exposures', () => {
  it('are those of our units, in tenths', () => {
    const text = JSON.stringify([
      { unit: 'stele-gateway.service', exposure: '1.1', predicate: 'OK' },
      { unit: 'stele-core.service', exposure: '9.6', predicate: 'UNSAFE' },
      { unit: 'dbus-broker.service', exposure: '8.7' },
      { unit: 'stele-odd.service', exposure: 'much' },
      null,
    ])
    expect(parseExposures(text)).toEqual([
      { unit: 'stele-core.service', tenths: 96 },
      { unit: 'stele-gateway.service', tenths: 11 },
    ])
  })

  it.each(['', '{}', '[]', 'not JSON', '[{"unit":"stele-core.service"}]'])('are unknown after %j', (text) => {
    expect(() => parseExposures(text)).toThrow(LinuxFault)
  })
})

describe('sockets', () => {
  const head =
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n'
  const row = (local: string, state: string) =>
    `   0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000   997        0 4242 1 0\n`

  it('that wait are told with address, port and inode; connected ones are not', () => {
    expect(parseSockets('tcp', head + row('0100007F:C350', '0A') + row('0100007F:C351', '01'))).toEqual([
      { protocol: 'tcp', address: '127.0.0.1', port: 50_000, inode: '4242' },
    ])
    expect(parseSockets('udp', row('0F02000A:0044', '07'))).toMatchObject([
      { address: '10.0.2.15', port: 68 },
    ])
    expect(parseSockets('tcp6', row(`${'0'.repeat(24)}01000000:C350`, '0A'))).toMatchObject([
      { address: '::1', port: 50_000 },
    ])
  })

  it('of any text are none or the kernel’s, never a failure', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(Array.isArray(parseSockets('tcp', text))).toBe(true)
      }),
    )
  })
})

describe('a part that cannot be read', () => {
  const unread = () => {
    throw Object.assign(new Error('/etc/secret is a path'), { code: 'EACCES' })
  }

  it('is named with its reason, and the others are told', async () => {
    const answer = await readAll(
      {
        mounts: () => [],
        verity: () => {
          throw new LinuxFault('host_unreadable', 'nothing verifies it')
        },
        probes: () => [],
        kernel: unread,
        programs: unread,
        processes: () => [],
        sockets: () => [],
        exposures: () => [],
      },
      new AbortController().signal,
    )
    expect(answer.mounts).toEqual([])
    expect(answer.unknowns).toEqual([
      { part: 'kernel', reason: 'EACCES' },
      { part: 'programs', reason: 'EACCES' },
      { part: 'verity', reason: 'nothing verifies it' },
    ])
  })
})
