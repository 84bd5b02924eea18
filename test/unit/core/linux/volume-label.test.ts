import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isSeedLabel, VOLUME_HEAD, volumeOf } from '../../../../agent/core/linux/volume-label.ts'

function iso(label: string): Buffer {
  const head = Buffer.alloc(VOLUME_HEAD)
  head.write('\x01CD001\x01', 32 * 1024, 'latin1')
  head.write(label.padEnd(32), 32 * 1024 + 40, 'latin1')
  return head
}

function fat(kind: 12 | 16 | 32, label: string): Buffer {
  const head = Buffer.alloc(VOLUME_HEAD)
  head.write(label.padEnd(11), kind === 32 ? 71 : 43, 'latin1')
  head.write(`FAT${kind}   `, kind === 32 ? 82 : 54, 'latin1')
  head.writeUInt16BE(0x55aa, 510)
  return head
}

describe('volumeOf', () => {
  it.each(['cidata', 'CIDATA'])('BR-007: finds the label %s on every kind of seed', (label) => {
    expect(volumeOf(iso(label))).toEqual({ type: 'iso9660', label })
    for (const kind of [12, 16, 32] as const)
      expect(volumeOf(fat(kind, label))).toEqual({ type: 'vfat', label })
    expect(isSeedLabel(label)).toBe(true)
  })

  it('takes a disk without either file system for no volume', () => {
    expect(volumeOf(Buffer.alloc(VOLUME_HEAD))).toBeUndefined()
    expect(volumeOf(Buffer.alloc(0))).toBeUndefined()
    const bootSector = Buffer.alloc(512)
    bootSector.writeUInt16BE(0x55aa, 510)
    expect(volumeOf(bootSector)).toBeUndefined()
  })

  it('takes no other label for a seed', () => {
    for (const label of ['cidata2', 'config-2', '', 'CI DATA', 'xcidata'])
      expect(isSeedLabel(label)).toBe(false)
  })

  it('reads any bytes without failing', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 3000 }), fc.nat(VOLUME_HEAD), (bytes, at) => {
        const head = iso('cidata')
        head.set(bytes.subarray(0, VOLUME_HEAD - at), at)
        expect(() => volumeOf(head)).not.toThrow()
        expect(() => volumeOf(Buffer.from(bytes))).not.toThrow()
      }),
    )
  })
})
