import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { writeCpio } from '../../../images/cpio.ts'
import { readElf } from '../../../images/elf.ts'
import { isLibrary, Tree } from '../../../images/tree.ts'

let tree: Tree
beforeEach(() => {
  tree = new Tree(mkdtempSync(join(tmpdir(), 'tree-')))
})
afterEach(() => rmSync(tree.folder, { recursive: true, force: true }))

describe('a tree', () => {
  it('resolves links inside itself, absolute ones too, and never on the host', () => {
    tree.write('usr/lib/real', 'x')
    tree.link('lib', 'usr/lib')
    tree.link('usr/lib/absolute', '/lib/real')
    tree.link('usr/lib/up', '../../../../../usr/lib/real')
    tree.link('usr/lib/host', '/etc/hostname')
    expect(tree.resolve('lib/absolute')).toBe('usr/lib/real')
    expect(tree.resolve('lib/up')).toBe('usr/lib/real')
    expect(tree.resolve('lib/host')).toBeUndefined()
  })

  it('gives up on a ring of links', () => {
    tree.link('a', 'b')
    tree.link('b', 'a')
    expect(tree.resolve('a')).toBeUndefined()
  })

  it('removes by pattern: all but some, and nothing beside', () => {
    for (const path of ['usr/share/doc/a', 'usr/share/zoneinfo/UTC', 'usr/lib/x']) tree.write(path, '')
    tree.removeMatching('usr/share/!(zoneinfo)')
    expect(tree.entries().map(({ path }) => path)).toEqual([
      ...['usr', 'usr/lib', 'usr/lib/x', 'usr/share', 'usr/share/zoneinfo', 'usr/share/zoneinfo/UTC'],
    ])
  })

  it('sets one time on everything, folders and links included', () => {
    tree.write('a/b', '')
    tree.link('c', 'nowhere')
    tree.setTimes(1_700_000_000)
    expect(tree.entries().map(({ stats }) => stats.mtimeMs)).toEqual(Array(3).fill(1_700_000_000_000))
    expect(statSync(tree.folder).mtimeMs).toBe(1_700_000_000_000)
  })

  it('tells a library from a socket unit', () => {
    expect(['libc.so.6', 'libsystemd-shared-257.so', 'a.socket', 'so'].map(isLibrary)).toEqual([
      true,
      true,
      false,
      false,
    ])
  })
})

describe('a cpio archive', () => {
  it('is the same bytes for the same tree, whenever it was made', () => {
    tree.write('b', 'text')
    tree.link('a', 'b')
    const first = writeCpio(tree, 5)
    tree.setTimes(123)
    expect(writeCpio(tree, 5).equals(first)).toBe(true)
    expect(first.toString('latin1').match(/070701/g)).toHaveLength(3)
    expect(first.length % 4).toBe(0)
  })

  it('changes with a mode', () => {
    tree.write('b', 'text')
    const first = writeCpio(tree, 5)
    chmodSync(tree.at('b'), 0o755)
    expect(writeCpio(tree, 5).equals(first)).toBe(false)
  })
})

describe('an ELF file', () => {
  it('says what it loads', () => {
    const elf = new Tree('/').elf(process.execPath.slice(1))
    expect(elf?.needed).toContain('libc.so.6')
    expect(elf?.loader).toMatch(/ld-linux/)
    expect(elf?.isExecutable).toBe(true)
  })

  it('is not what merely starts like one, whatever follows', () => {
    expect(readElf(Buffer.from('#!/bin/sh\n'))).toBeUndefined()
    const torn = Buffer.alloc(64, 0xff)
    torn.write('\x7fELF\x02\x01', 'latin1')
    torn.writeUInt16LE(3, 16)
    expect(readElf(torn)?.needed ?? []).toEqual([])
  })
})
