/** What a block device is, from its first bytes. Pure: the bytes are a stranger's, and nothing but constants decides where to look. */

export type Volume = { readonly type: 'vfat' | 'iso9660'; readonly label: string }

/** Bytes from the start of a device that `volumeOf` looks at: ISO 9660 begins at 32 KiB. */
export const VOLUME_HEAD = 34 * 1024

const SECTOR = 2048
const DESCRIPTORS = 16
const ISO_LABEL = { at: 40, length: 32 }

/**
 * Returns the type and label of the file system, or undefined when it is neither FAT nor ISO 9660. ISO 9660: ECMA-119, 8.4; FAT: the BIOS
 * parameter block of the Microsoft FAT specification, where offsets 71 (FAT32) and 43 hold the label.
 */
export function volumeOf(head: Buffer): Volume | undefined {
  return isoOf(head) ?? fatOf(head)
}

/** Whether a label is that of a NoCloud seed. Upper or lower case: FAT tools write either. */
export function isSeedLabel(label: string): boolean {
  return label.toLowerCase() === 'cidata'
}

function isoOf(head: Buffer): Volume | undefined {
  const descriptor = head.subarray(DESCRIPTORS * SECTOR, (DESCRIPTORS + 1) * SECTOR)
  if (descriptor.length < ISO_LABEL.at + ISO_LABEL.length) return undefined
  if (descriptor[0] !== 1 || text(descriptor, 1, 5) !== 'CD001') return undefined
  return { type: 'iso9660', label: text(descriptor, ISO_LABEL.at, ISO_LABEL.length) }
}

function fatOf(head: Buffer): Volume | undefined {
  if (head.length < 512 || head[510] !== 0x55 || head[511] !== 0xaa) return undefined
  if (text(head, 82, 8) === 'FAT32') return { type: 'vfat', label: text(head, 71, 11) }
  if (/^FAT(12|16)?$/.test(text(head, 54, 8))) return { type: 'vfat', label: text(head, 43, 11) }
  return undefined
}

function text(bytes: Buffer, at: number, length: number): string {
  return bytes
    .toString('latin1', at, at + length)
    .replace(/\0.*$/s, '')
    .trimEnd()
}
