/**
 * What the image's own definitions make of disks of other sizes than its own, by the systemd-repart of the build on files: no machine is started. Needs an
 * image.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { runTool } from '../../agent/cli/machine/tool.ts'
import { bytesNeeded } from '../../agent/core/linux/disk-room.ts'
import { backupOf, digestOfRegions, partitionOf, partitionsOf } from './state-partition.ts'
import { imageUnderTest, REPOSITORY, toolsUnderTest } from './under-test.ts'

const DEFINITIONS = join(REPOSITORY, 'images/root/usr/lib/repart.d')
const [MIB, GIB, TIB] = [1024 ** 2, 1024 ** 3, 1024 ** 4] as const
const TIMEOUT_MS = 60_000

let folder: string
let disk: string
let needed: number
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'repart-'))
  disk = join(folder, 'disk')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))
beforeEach(() => {
  const image = imageUnderTest().disk
  const texts = readdirSync(DEFINITIONS)
    .sort()
    .map((name) => readFileSync(join(DEFINITIONS, name), 'utf8'))
  needed = bytesNeeded(texts, partitionsOf(image).map(endOf))
  rmSync(disk, { force: true })
  execFileSync('cp', ['--sparse=always', image, disk])
})

function endOf({ offset, length }: { readonly offset: number; readonly length: number }): number {
  return offset + length
}

function repart(): Promise<string> {
  const command = ['systemd-repart', '--offline=yes', '--dry-run=no', `--definitions=${DEFINITIONS}`, disk]
  return runTool(toolsUnderTest(), command, { binds: [folder, DEFINITIONS], timeoutMs: TIMEOUT_MS })
}

/** The check of the file system that is STATE; throws what it finds wrong. */
function check(): Promise<string> {
  const at = `${disk}?offset=${partitionOf(disk).offset}`
  return runTool(toolsUnderTest(), ['e2fsck', '-fn', at], { binds: [folder], timeoutMs: TIMEOUT_MS })
}

describe('a disk that is larger than the image (BR-102)', () => {
  it.each([
    ['8 GiB', 8 * GIB],
    ['3 TiB', 3 * TIB],
  ])(
    'is filled by STATE, and the backup of its table is at its end: %s',
    { timeout: TIMEOUT_MS },
    async (_, bytes) => {
      truncateSync(disk, bytes)
      await repart()
      expect(backupOf(disk)).toBe(bytes - 512)
      expect(endOf(partitionOf(disk))).toBeGreaterThan(bytes - 2 * MIB)
      await check()
    },
  )

  it('that grew later is filled again, and what is on STATE stays', { timeout: TIMEOUT_MS }, async () => {
    truncateSync(disk, 2 * GIB)
    await repart()
    const before = partitionOf(disk)
    const digest = digestOfRegions(disk, [before])
    truncateSync(disk, 3 * TIB)
    await repart()
    const after = partitionOf(disk)
    expect(after.offset).toBe(before.offset)
    expect(endOf(after)).toBeGreaterThan(3 * TIB - 2 * MIB)
    expect(backupOf(disk)).toBe(3 * TIB - 512)
    expect(digestOfRegions(disk, [before])).toBe(digest)
    await check()
  })
})

describe('a disk that is smaller than the layout (BR-102, BR-103)', () => {
  it('has what core says is needed: then STATE is made', { timeout: TIMEOUT_MS }, async () => {
    truncateSync(disk, needed)
    await repart()
    expect(partitionOf(disk).length).toBeGreaterThanOrEqual(256 * MIB)
    await check()
  })

  it.each([
    ['1 MiB less than needed', () => needed - MIB],
    ['100 MiB less', () => needed - 100 * MIB],
    ['the size of the image', () => statSync(disk).size],
    ['1 MiB more than that', () => statSync(disk).size + MIB],
  ])('is left as it is, every byte: %s', { timeout: TIMEOUT_MS }, async (_, bytesOf) => {
    const bytes = bytesOf()
    truncateSync(disk, bytes)
    const whole = [{ offset: 0, length: bytes }]
    const before = digestOfRegions(disk, whole)
    await expect(repart()).rejects.toThrow(/Can't fit requested partitions into available free space/)
    expect(digestOfRegions(disk, whole)).toBe(before)
  })
})
