import { describe, expect, it } from 'vitest'
import type { GetIntegrityResponse } from '#api'
import { verdictExit } from '../../../agent/cli/command/integrity.ts'
import { judgeIntegrity } from '../../../agent/cli/integrity.ts'

const HASH = 'ab'.repeat(32)
const confined = (unit: string) => ({
  ...{ unit, pid: 400, uid: 997, effective: [], permitted: [], bounding: [] },
  ...{ noNewPrivileges: true, systemCallsFiltered: true },
})
const socket = (protocol: string, port: number, unit: string, address = '0.0.0.0') => ({
  ...{ protocol, port, unit, address },
})

/** What a sound node answers. */
function sound(): GetIntegrityResponse {
  return {
    mounts: [
      { path: '/', type: 'erofs', source: '/dev/mapper/root', fileSystemReadOnly: true, mountReadOnly: true },
    ],
    verity: { name: 'root', algorithm: 'sha256', rootHash: HASH, intact: true },
    probes: [
      { action: 'create', path: '/', error: 'EROFS' },
      { action: 'remount', path: '/', error: 'EACCES' },
    ],
    kernel: { lockdown: 'integrity', modulesSigned: true, secureBoot: undefined },
    programs: {
      executables: ['usr/bin/node'],
      scripts: [],
      interpreters: [],
      packageManagers: [],
      setuid: [],
    },
    processes: [
      { ...confined('stele-core.service'), uid: 0, effective: ['CAP_SYS_ADMIN'] },
      confined('stele-gateway.service'),
      confined('stele-trust.service'),
    ],
    sockets: [
      socket('tcp6', 50_000, 'stele-gateway.service', '::'),
      socket('tcp', 50_001, 'stele-trust.service'),
      socket('tcp', 8080, 'anything.service', '127.0.0.1'),
    ],
    exposures: [
      { unit: 'stele-core.service', tenths: 90 },
      { unit: 'stele-gateway.service', tenths: 20 },
      { unit: 'stele-trust.service', tenths: 11 },
    ],
    unknowns: [],
  }
}
const image = { rootHash: HASH, executables: ['usr/bin/node'] }
const PROPERTIES = judgeIntegrity(sound(), image).map(({ property }) => property)
const verdicts = (answer: GetIntegrityResponse, verdict: string) =>
  judgeIntegrity(answer, image)
    .filter((one) => one.verdict === verdict)
    .map(({ property }) => property)

describe('the verdict on a node', () => {
  it('is ok for all of a sound one', () => {
    expect(verdicts(sound(), 'ok')).toEqual(PROPERTIES)
  })

  it('is unknown for all of a node that tells nothing, never ok', () => {
    const silent: GetIntegrityResponse = {
      ...{ mounts: [], verity: undefined, probes: [], kernel: undefined, programs: undefined },
      ...{ processes: [], sockets: [], exposures: [], unknowns: [] },
    }
    expect(verdicts(silent, 'unknown')).toEqual(PROPERTIES)
  })

  const [core, gateway, trust] = sound().processes
  const programs = sound().programs
  const kernel = sound().kernel
  it.each<readonly [string, Partial<GetIntegrityResponse>]>([
    ['root read-only', { mounts: sound().mounts.map((one) => ({ ...one, fileSystemReadOnly: false })) }],
    ['root verified', { verity: { name: 'root', algorithm: 'sha256', rootHash: HASH, intact: false } }],
    ['writing refused', { probes: [{ action: 'create', path: '/usr', error: '' }, ...sound().probes] }],
    ['remount refused', { probes: [...sound().probes, { action: 'remount', path: '/', error: '' }] }],
    ['kernel', { kernel: kernel && { ...kernel, lockdown: 'none' } }],
    ['kernel', { kernel: kernel && { ...kernel, modulesSigned: false } }],
    ['shells and interpreters', { programs: programs && { ...programs, interpreters: ['bin/sh'] } }],
    ['shells and interpreters', { programs: programs && { ...programs, scripts: ['usr/bin/ldd'] } }],
    ['package managers', { programs: programs && { ...programs, packageManagers: ['usr/bin/apt'] } }],
    ['setuid files', { programs: programs && { ...programs, setuid: ['usr/bin/su'] } }],
    ['programs of the image', { programs: programs && { ...programs, executables: [] } }],
    [
      'root hash of the image',
      { verity: { name: 'root', algorithm: 'sha256', rootHash: 'cd'.repeat(32), intact: true } },
    ],
    ['capabilities', { processes: [{ ...confined('stele-gateway.service'), bounding: ['CAP_CHOWN'] }] }],
    ['capabilities', { processes: [{ ...confined('stele-trust.service'), uid: 0 }] }],
    ['capabilities', { processes: [{ ...confined('stele-trust.service'), noNewPrivileges: false }] }],
    ['exposure', { exposures: [{ unit: 'stele-gateway.service', tenths: 21 }, ...sound().exposures] }],
    ['open ports', { sockets: [socket('tcp', 22, '')] }],
    ['open ports', { sockets: [socket('tcp', 50_001, 'stele-gateway.service')] }],
  ])('is violated for “%s” alone', (property, change) => {
    expect([core, gateway, trust]).not.toContain(undefined)
    expect(verdicts({ ...sound(), ...change }, 'violated')).toEqual([property])
  })

  it('is unknown where only the sandbox of core may have refused', () => {
    const probes = [
      { action: 'create', path: '/', error: 'EACCES' },
      { action: 'remount', path: '/', error: 'EPERM' },
    ]
    expect(verdicts({ ...sound(), probes }, 'unknown')).toEqual(['writing refused', 'remount refused'])
  })

  it('is unknown for a part that the node could not read, with the reason', () => {
    const answer = { ...sound(), kernel: undefined, unknowns: [{ part: 'kernel', reason: 'EACCES' }] }
    expect(judgeIntegrity(answer, image)).toContainEqual({
      property: 'kernel',
      verdict: 'unknown',
      detail: 'EACCES',
    })
  })

  it('decides the exit code: 0, 1 for unknown, 8 for violated', () => {
    const one = (verdict: 'ok' | 'unknown' | 'violated') => ({ property: 'kernel', verdict, detail: '' })
    expect(verdictExit([one('ok')])).toBe(0)
    expect(verdictExit([one('ok'), one('unknown')])).toBe(1)
    expect(verdictExit([one('violated'), one('unknown')])).toBe(8)
  })
})
