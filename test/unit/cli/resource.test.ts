import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatBytes } from '../../../agent/cli/bytes.ts'
import { resourceRows } from '../../../agent/cli/command/resource.ts'

describe('sizes for people', () => {
  it.each([
    [0, '0 B'],
    [1023, '1023 B'],
    [1024, '1.0 KiB'],
    [62_914_560, '60 MiB'],
    [2_040_109_465, '1.9 GiB'],
    [2 ** 62, '4096 PiB'],
  ])('%d bytes are %s', (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text)
  })

  it('never shows more than four digits of what a machine can have', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger().map(Math.abs), (bytes) => {
        expect(formatBytes(bytes)).toMatch(/^\d{1,4}(?:\.\d)? (?:B|[KMGTP]iB)$/)
      }),
    )
  })
})

describe('the rows of stelectl resources', () => {
  it('leaves a cell empty for what the node does not know', () => {
    const rows = resourceRows({
      memory: { totalBytes: 2_147_483_648n, availableBytes: 1_610_612_736n },
      fileSystems: [],
      services: [
        {
          name: 'core',
          residentBytes: undefined,
          groupBytes: undefined,
          groupPeakBytes: undefined,
          processorTime: undefined,
        },
      ],
      bootPhases: [{ name: 'kernel', duration: { seconds: 1n, nanos: 500_000_000 } }],
    })
    expect(rows).toEqual([
      ['memory', '512 MiB', '2.0 GiB', '', ''],
      ['core', '', '', '', ''],
      ['boot: kernel', '', '', '', '1.5 s'],
    ])
  })

  it('shows what a service uses by the measure of its peak, where the node tells it', () => {
    const service = { name: 'core', processorTime: undefined }
    const rowOf = (groupBytes: bigint | undefined) =>
      resourceRows({
        memory: undefined,
        fileSystems: [],
        services: [{ ...service, residentBytes: 70n << 20n, groupBytes, groupPeakBytes: 50n << 20n }],
        bootPhases: [],
      })[0]
    expect(rowOf(40n << 20n)).toEqual(['core', '40 MiB', '', '50 MiB', ''])
    expect(rowOf(undefined)).toEqual(['core', '70 MiB', '', '50 MiB', ''])
  })
})
