import { describe, expect, it } from 'vitest'
import { isStateLost, mountOf } from '../../../../agent/core/linux/state-disk.ts'

// As /proc/self/mountinfo of a node has it.
const ROOT =
  '23 1 254:0 / / ro,nodev,relatime - erofs /dev/mapper/root ro,user_xattr,acl,cache_strategy=readaround'
const VAR = '31 23 253:4 / /var rw,nosuid,nodev,relatime shared:7 - ext4 /dev/vda4 rw'
const VOLATILE = '31 23 0:24 / /var rw,nosuid,nodev shared:7 - tmpfs tmpfs rw,size=65536k,mode=755'
const STATE = '/var/lib/stele'

describe('mountOf', () => {
  it('is the nearest mount on the way, with its options and those of the file system', () => {
    expect(mountOf(text(ROOT, VAR), STATE)).toEqual({
      mountPoint: '/var',
      type: 'ext4',
      source: '/dev/vda4',
      device: '253:4',
      options: ['rw', 'nosuid', 'nodev', 'relatime'],
      fileSystemOptions: ['rw'],
    })
    expect(mountOf(text(VAR, ROOT), STATE)?.mountPoint).toBe('/var')
    expect(mountOf(text(ROOT, VAR), '/etc')?.mountPoint).toBe('/')
  })

  it('goes by whole names: /var does not hold /variable', () => {
    expect(mountOf(text(ROOT, VAR), '/variable')?.mountPoint).toBe('/')
    expect(mountOf(text(ROOT, VAR), '/var')?.mountPoint).toBe('/var')
  })

  it('is the last of those at one place, which hides the others', () => {
    expect(mountOf(text(ROOT, VOLATILE, VAR), STATE)?.type).toBe('ext4')
    expect(mountOf(text(ROOT, VAR, VOLATILE), STATE)?.type).toBe('tmpfs')
  })

  it('reads a line with no optional field and with several, and names with blanks in them', () => {
    const odd = String.raw`40 23 0:30 / /var/a\040b\134c rw shared:1 master:2 propagate_from:3 - ext4 /dev/disk\040one rw`
    expect(mountOf(text(ROOT, odd), '/var/a b\\c/d')).toMatchObject({
      source: '/dev/disk one',
      device: '0:30',
    })
    expect(mountOf(text(ROOT), STATE)).toMatchObject({ mountPoint: '/', type: 'erofs' })
  })

  it('is none where the text tells of none', () => {
    for (const nothing of ['', '\n', 'no mount at all', VAR.replace(' - ', ' ')]) {
      expect(mountOf(nothing, STATE)).toBeUndefined()
    }
  })
})

describe('isStateLost', () => {
  it('is true where memory is mounted instead of the disk', () => {
    expect(isStateLost(text(ROOT, VOLATILE), STATE)).toBe(true)
  })

  it('is false with the disk there, also where memory is mounted beside it or nothing is known', () => {
    const run = '25 23 0:20 / /run rw,nosuid,nodev shared:2 - tmpfs tmpfs rw'
    expect(isStateLost(text(ROOT, VAR, run), STATE)).toBe(false)
    expect(isStateLost('', STATE)).toBe(false)
  })
})

function text(...lines: readonly string[]): string {
  return `${lines.join('\n')}\n`
}
