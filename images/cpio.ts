/**
 * A tree as a cpio archive of format "newc", the one that the kernel unpacks (Documentation/driver-api/early-userspace/buffer-format.rst).
 *
 * Invariant: the bytes depend on paths, modes and contents alone: owner 0:0, one fixed time, entries in byte order, inode numbers by position.
 */
import { readFileSync, readlinkSync } from 'node:fs'
import type { Tree } from './tree.ts'

const TRAILER = 'TRAILER!!!'

/** Returns the archive of everything below the tree's folder; times are `epoch` seconds. */
export function writeCpio(tree: Tree, epoch: number): Buffer {
  const parts: Buffer[] = []
  let inode = 1
  for (const { path, stats } of tree.entries()) {
    const body = stats.isSymbolicLink()
      ? Buffer.from(readlinkSync(tree.at(path)))
      : stats.isFile()
        ? readFileSync(tree.at(path))
        : Buffer.alloc(0)
    parts.push(...entry(path, { inode: inode++, mode: stats.mode, time: epoch, body }))
  }
  parts.push(...entry(TRAILER, { inode: 0, mode: 0, time: 0, body: Buffer.alloc(0) }))
  return Buffer.concat(parts)
}

type Fields = { readonly inode: number; readonly mode: number; readonly time: number; readonly body: Buffer }

function entry(path: string, fields: Fields): readonly Buffer[] {
  const name = Buffer.from(`${path}\0`)
  const links = (fields.mode & 0o170000) === 0o040000 ? 2 : 1
  const numbers = [
    fields.inode,
    fields.mode,
    0,
    0,
    links,
    fields.time,
    fields.body.length,
    0,
    0,
    0,
    0,
    name.length,
    0,
  ]
  const header = `070701${numbers.map((value) => value.toString(16).padStart(8, '0')).join('')}`
  const head = Buffer.concat([Buffer.from(header, 'latin1'), name])
  return [head, padding(head.length), fields.body, padding(fields.body.length)]
}

function padding(length: number): Buffer {
  return Buffer.alloc((4 - (length % 4)) % 4)
}
