import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  decideMachine,
  firmwareUuid,
  hardwareSchema,
  setMachineId,
  type Hardware,
} from '../../../../agent/core/linux/machine-identity.ts'

const UUID = '7b0e3a52-94c1-4d7f-8a36-0f1e2d3c4b5a'
const OTHER = '1c9d8e7f-6a5b-4c3d-9e2f-1a0b9c8d7e6f'
const plain = (uuid: string) => uuid.replaceAll('-', '')
const RANDOM = '93bdfe0156e54bb9a26126d4dee0273b'
const FRESH = '0123456789abcdef0123456789abcdef'
const decide = (
  known: Hardware | undefined,
  firmware: string,
  machineId = firmware === '' ? RANDOM : plain(firmware),
) => decideMachine(known, { firmware, machineId, isNamed: false }, () => FRESH)

describe('firmwareUuid', () => {
  it('takes a UUID in either case, with the line feed of the kernel', () => {
    expect(firmwareUuid(`${UUID.toUpperCase()}\n`)).toBe(UUID)
  })

  it.each([
    ['', 'missing'],
    ['Not Settable', 'no UUID'],
    [UUID.slice(1), 'cut'],
    ['00000000-0000-0000-0000-000000000000', 'not present'],
    ['FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF', 'not settable'],
    ['fefefefe-fefe-fefe-fefe-fefefefefefe', 'filled'],
    ['03000200-0400-0500-0006-000700080009', 'template of a vendor'],
    ['12345678-1234-5678-90AB-CDDEEFAABBCC', 'counted digits'],
  ])('does not take %j: %s (BR-112)', (text) => expect(firmwareUuid(text)).toBeUndefined())
})

describe('decideMachine (BR-112)', () => {
  it('records the firmware, whose UUID is the identity, and keeps none of its own', () => {
    const first = decide(undefined, UUID)
    expect(first).toEqual({ record: { firmware: UUID }, machineId: plain(UUID), isChanged: false })
    expect(decide(first.record, UUID)).toEqual(first)
  })

  it('keeps what systemd made up where the firmware has no UUID, and uses it at every later boot', () => {
    const first = decide(undefined, '')
    expect(first).toEqual({
      record: { firmware: '', machineId: RANDOM },
      machineId: RANDOM,
      isChanged: false,
    })
    expect(decide(first.record, '', FRESH)).toEqual(first)
    expect(decide(first.record, '', '')).toEqual(first)
  })

  it('does not share an identity with every other board of a vendor', () => {
    const constant = '03000200-0400-0500-0006-000700080009'
    const first = decide(undefined, constant)
    expect(first).toEqual({ record: { firmware: '', machineId: FRESH }, machineId: FRESH, isChanged: false })
    expect(decide(first.record, constant)).toEqual(first)
  })

  it('makes an identity where systemd left none', () => {
    expect(decide(undefined, '', '').machineId).toBe(FRESH)
    expect(decide(undefined, '', 'uninitialized').machineId).toBe(FRESH)
  })

  it('tells a copy of the disk at every boot, which has the identity of its own machine', () => {
    const { record } = decide(undefined, UUID)
    const copy = decide(record, OTHER)
    expect(copy).toEqual({ record, machineId: plain(OTHER), isChanged: true })
    expect(decide(copy.record, OTHER)).toEqual(copy)
    expect(decide(copy.record, UUID).isChanged).toBe(false)
  })

  it('takes the kept identity away from a copy in a machine that has a UUID', () => {
    const { record } = decide(undefined, '')
    const copy = decide(record, UUID, RANDOM)
    expect(copy).toEqual({ record: { firmware: '' }, machineId: plain(UUID), isChanged: true })
    expect(decide(copy.record, UUID)).toEqual(copy)
  })

  it('gives a copy of a machine with a UUID an identity that lasts where there is no UUID', () => {
    const { record } = decide(undefined, UUID)
    const copy = decide(record, '')
    expect(copy).toMatchObject({ machineId: RANDOM, isChanged: true })
    expect(decide(copy.record, '', FRESH)).toEqual(copy)
  })

  it('leaves an identity alone that the kernel argument names, and keeps nothing of it', () => {
    const seen = { firmware: '', machineId: FRESH, isNamed: true }
    const verdict = decideMachine(undefined, seen, () => RANDOM)
    expect(verdict).toEqual({ record: { firmware: '' }, machineId: FRESH, isChanged: false })
  })

  it('never forgets the disk, and settles: a second look at the same machine changes nothing', () => {
    const uuid = fc.constantFrom('', UUID, OTHER, '03000200-0400-0500-0006-000700080009')
    const id = fc.constantFrom('', RANDOM, FRESH, plain(UUID))
    fc.assert(
      fc.property(uuid, id, uuid, id, fc.boolean(), (before, idBefore, now, idNow, isNamed) => {
        const first = decide(undefined, before, idBefore)
        const known = { ...first.record, disk: 'd' }
        const look = (machineId: string, record: Hardware) =>
          decideMachine(record, { firmware: now, machineId, isNamed }, () => FRESH)
        const second = look(idNow, known)
        expect(hardwareSchema.parse(second.record)).toMatchObject({
          disk: 'd',
          firmware: first.record.firmware,
        })
        expect(look(second.machineId, second.record)).toEqual(second)
      }),
    )
  })
})

describe('setMachineId', () => {
  it('writes into the file that is there, so that a mount of it changes too, and makes none', () => {
    const folder = mkdtempSync(join(tmpdir(), 'id-'))
    try {
      const path = join(folder, 'machine-id')
      expect(() => setMachineId(RANDOM, path)).toThrow('ENOENT')
      writeFileSync(path, `${FRESH}\n`)
      const { ino } = statSync(path)
      setMachineId(RANDOM, path)
      expect(readFileSync(path, 'utf8')).toBe(`${RANDOM}\n`)
      expect(statSync(path).ino).toBe(ino)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
