/** The parts of the real host that run without systemd: real programs, real pipes, real files, a real datagram socket. */
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import koffi from 'koffi'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LinuxFault } from '../../../agent/core/linux/fault.ts'
import { journalLogs } from '../../../agent/core/linux/journal.ts'
import { nameInMetaData } from '../../../agent/core/linux/name.ts'
import { openNotify, socketAddress } from '../../../agent/core/linux/notify.ts'
import { hostPrograms, type Programs } from '../../../agent/core/linux/run.ts'
import { hostSeeds, readMetaData, seedSource } from '../../../agent/core/linux/seed-disk.ts'
import { makeSharedFolders, sharingFiles } from '../../../agent/core/linux/share.ts'
import { publishIdentity } from '../../../agent/core/identity/publish.ts'
import { diskFileSystem } from '../../../agent/core/store/file-system.ts'
import { systemClock } from '../../../agent/kit/clock.ts'
import { eventually } from '../../support/wait.ts'

let folder: string
const signal = new AbortController().signal
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'linux-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function program(name: string, body: string): void {
  writeFileSync(join(folder, name), `#!/bin/sh\n${body}\n`)
  chmodSync(join(folder, name), 0o755)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

describe('hostPrograms', () => {
  it('tells a program that the host lacks, and does not fail core', async () => {
    const programs = hostPrograms([folder])
    expect(programs.find('journalctl')).toBeUndefined()
    await expect(programs.run('systemctl', [], { deadlineMs: 1000, signal })).rejects.toMatchObject({
      code: 'program_missing',
    })
    const logs = journalLogs({ programs, bootId: 'b', audit: folder, clock: systemClock })
    const query = { follow: true, tailLines: 0, previousBoot: false, signal }
    await expect(logs.read('core', query)[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: 'program_missing',
    })
  })

  it('returns what a program prints, tells its failure, and kills one that hangs', async () => {
    const programs = hostPrograms([folder])
    program('systemctl', 'echo "$@ [$HOME]"')
    expect(await programs.run('systemctl', ['show', 'a b'], { deadlineMs: 10_000, signal })).toBe(
      'show a b []\n',
    )
    program('systemctl', 'echo no such unit >&2; exit 4')
    await expect(programs.run('systemctl', [], { deadlineMs: 10_000, signal })).rejects.toSatisfy(
      (error: LinuxFault) =>
        error.code === 'program_failed' && String(error.cause).includes('4: no such unit'),
    )
    program('systemctl', 'exec sleep 600')
    await expect(programs.run('systemctl', [], { deadlineMs: 50, signal })).rejects.toMatchObject({
      code: 'program_timeout',
    })
  })

  it('ends with the reason of its signal', async () => {
    program('systemctl', 'exec sleep 600')
    const stop = new AbortController()
    const running = hostPrograms([folder]).run('systemctl', [], { deadlineMs: 60_000, signal: stop.signal })
    stop.abort(new Error('core stops'))
    await expect(running).rejects.toThrow('core stops')
  })

  it('makes a program wait for a slow reader, and takes it along when the reader leaves', async () => {
    program(
      'journalctl',
      `echo $$ > ${folder}/pid; i=0; while :; do i=$((i+1)); echo $i > ${folder}/count; head -c 65536 /dev/zero; done`,
    )
    const stop = new AbortController()
    const pieces = hostPrograms([folder]).stream('journalctl', [], { signal: stop.signal })
    await pieces.next()
    const count = () => Number(readText('count'))
    let last = 0
    let same = 0
    // A program that does not wait is never still.
    const isStill = () => {
      same = count() === last ? same + 1 : 0
      last = count()
      return last > 0 && same >= 5
    }
    await eventually(isStill, { what: 'the program to wait' })
    const pid = Number(readText('pid'))
    expect(isAlive(pid)).toBe(true)
    await pieces.return(undefined)
    expect(isAlive(pid)).toBe(false)
  })

  it('ends a reader that waits for a quiet program', async () => {
    program('journalctl', `echo $$ > ${folder}/pid; echo line; exec sleep 600`)
    const stop = new AbortController()
    const pieces = hostPrograms([folder]).stream('journalctl', [], { signal: stop.signal })
    expect(String((await pieces.next()).value)).toBe('line\n')
    const waiting = pieces.next()
    stop.abort(new Error('the client left'))
    await expect(waiting).rejects.toThrow('the client left')
    expect(isAlive(Number(readText('pid')))).toBe(false)
  })
})

describe('openNotify', () => {
  it('says to systemd what it is told, by path and in the abstract space', () => {
    const libc = koffi.load('libc.so.6')
    const socket = libc.func('int socket(int, int, int)') as (...args: readonly number[]) => number
    const bind = libc.func('int bind(int, const uint8_t *, uint32_t)') as (
      ...args: readonly unknown[]
    ) => number
    const recv = libc.func('int64_t recv(int, _Out_ uint8_t *, uint64_t, int)') as (
      ...args: readonly unknown[]
    ) => number
    for (const name of [join(folder, 'notify'), `@${folder}`]) {
      const receiver = socket(1, 2, 0)
      const address = socketAddress(name) ?? expect.unreachable()
      expect(bind(receiver, address, address.length)).toBe(0)
      openNotify(name)('READY=1')
      const buffer = Buffer.alloc(64)
      const length = recv(receiver, buffer, buffer.length, 0x40)
      closeSync(receiver)
      expect(buffer.toString('utf8', 0, length)).toBe('READY=1')
    }
  })
})

describe('seeds', () => {
  /** Block devices that are files; mounting one shows the files that were given for it. */
  function host(disks: Readonly<Record<string, { head: Buffer; files?: Readonly<Record<string, string>> }>>) {
    const log: string[] = []
    for (const [name, { head }] of Object.entries(disks)) {
      mkdirSync(join(folder, 'block', name), { recursive: true })
      mkdirSync(join(folder, 'dev'), { recursive: true })
      writeFileSync(join(folder, 'dev', name), head)
    }
    const programs: Programs = {
      find: () => '/x',
      stream: () => expect.unreachable(),
      run: async (name, args) => {
        log.push(`${name} ${args.join(' ').replaceAll(folder, '')}`)
        const target = args.at(-1) ?? ''
        if (name === 'umount') for (const file of readdirSync(target)) rmSync(join(target, file))
        const device = args[args.indexOf('--source') + 1]?.split('/').at(-1) ?? ''
        if (name !== 'mount') return ''
        const files = disks[device]?.files
        if (files === undefined) throw new LinuxFault('program_failed', 'mount ended with an error')
        for (const [file, text] of Object.entries(files)) writeFileSync(join(target, file), text)
        return ''
      },
    }
    const seeds = hostSeeds({
      programs,
      folder: join(folder, 'run'),
      blocks: join(folder, 'block'),
      devices: join(folder, 'dev'),
    })
    return { seeds, log }
  }

  function iso(label: string): Buffer {
    const head = Buffer.alloc(64 * 1024)
    head.write('\x01CD001\x01', 32 * 1024, 'latin1')
    head.write(label.padEnd(32), 32 * 1024 + 40, 'latin1')
    return head
  }

  it('BR-007: reads a seed by its label, by plain and by mangled names, and leaves nothing mounted', async () => {
    const { seeds, log } = host({
      vda: { head: Buffer.alloc(4096) },
      sr0: {
        head: iso('CIDATA'),
        files: { 'META_DATA.;1': 'local-hostname: cp-7\n', 'USER_DATA.;1': 'hello' },
      },
      loop0: { head: iso('cidata'), files: { 'user-data': 'not here' } },
    })
    expect(await seedSource(seeds).read({ signal })).toEqual({
      kind: 'data',
      bytes: Buffer.from('hello'),
      file: `${folder}/dev/sr0:USER_DATA.;1`,
    })
    expect(log).toEqual([
      'mount -t iso9660 -o ro,nosuid,nodev,noexec --source /dev/sr0 --target /run/seed-sr0',
      'umount --lazy /run/seed-sr0',
    ])
    expect(nameInMetaData((await readMetaData(seeds, { signal })) ?? '')).toBe('cp-7')
    expect(readdirSync(join(folder, 'run'))).toEqual([])
  })

  it('is absent without a seed, and tells a seed that cannot be mounted', async () => {
    expect(await seedSource(host({ vdb: { head: iso('other') } }).seeds).read({ signal })).toEqual({
      kind: 'absent',
    })
    const broken = host({ vdc: { head: iso('cidata') } })
    await expect(seedSource(broken.seeds).read({ signal })).rejects.toMatchObject({
      code: 'source_unreachable',
    })
    expect(existsSync(join(folder, 'run/seed-vdc'))).toBe(false)
  })

  it('goes on to the next seed when the first has no user data', async () => {
    const { seeds } = host({
      vdb: { head: iso('cidata'), files: { 'meta-data': '' } },
      vdc: { head: iso('cidata'), files: { 'user-data': 'second' } },
    })
    expect(await seedSource(seeds).read({ signal })).toMatchObject({ bytes: Buffer.from('second') })
  })
})

describe.runIf(process.getuid?.() === 0)('what gateway and trust may reach', () => {
  it('is one folder and one file each, which only their group may read', () => {
    const path = join(folder, 'run/gateway/identity.json')
    const shared = [{ path, gid: 911 }]
    makeSharedFolders(shared)
    const files = sharingFiles(diskFileSystem, shared)
    publishIdentity(files, path, {
      node: 'cp-1',
      // Only the two texts are read here.
      key: { privateKeyPem: 'k' } as never,
      certificate: { certificatePem: 'c', authorities: [] },
    })
    expect(modeOf(join(folder, 'run/gateway'))).toEqual([0, 911, 0o750])
    expect(modeOf(path)).toEqual([0, 911, 0o640])
    files.write(join(folder, 'other'), 'x', 0o600)
    expect(modeOf(join(folder, 'other'))).toEqual([0, process.getgid?.(), 0o600])
  })
})

function readText(name: string): string {
  return diskFileSystem.read(join(folder, name))?.toString() ?? ''
}

function modeOf(path: string): readonly unknown[] {
  const { uid, gid, mode } = statSync(path)
  return [uid, gid, mode & 0o777]
}
