import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findInterpreters, runsCommands } from '../../../../images/step/program.ts'
import { Tree } from '../../../../images/tree.ts'

let tree: Tree
beforeEach(() => {
  tree = new Tree(mkdtempSync(join(tmpdir(), 'root-')))
})
afterEach(() => rmSync(tree.folder, { recursive: true }))

/** The smallest header that says "a program at a fixed address", of 64 bits. */
function program(path: string, mode: number): void {
  const bytes = Buffer.alloc(64)
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1])
  bytes.writeUInt16LE(2, 16)
  tree.write(path, '')
  writeFileSync(tree.at(path), bytes)
  chmodSync(tree.at(path), mode)
}

describe('the name of a program that runs commands', () => {
  it.each([
    ...['bash-static', 'busybox-static', 'busybox.static', 'mksh-static', 'yash', 'posh', 'rc', 'es'],
    ...['elvish', 'xonsh', 'sash', 'nodejs', 'qjs', 'luajit-2.1.0', 'guile-3.0', 'python3-dbg', 'gdb'],
    ...['python3.13t', 'perl5.36-x86_64-linux-gnu', 'original-awk', 'socat', 'vim', 'vim.basic', 'expect'],
    ...['opt/x/BusyBox', 'dpkg-static', 'tclsh8.6'],
  ])('is %s', (name) => {
    expect(runsCommands(name)).toBe(true)
  })

  it.each([
    'mount',
    'systemd',
    'fsck',
    'mke2fs',
    'runc',
    'ip',
    'tc',
    'nft',
    'static',
    'x-static',
    '2.1',
    'kmod',
  ])('is not %s', (name) => {
    expect(runsCommands(name)).toBe(false)
  })
})

describe('the search for programs that run commands', () => {
  it('looks in every folder, for programs that may be run and for those that the loader would start', () => {
    program('opt/x/busybox', 0o755)
    program('usr/lib/klibc/bin/sh', 0o755)
    program('usr/local/bin/bash', 0o755)
    program('var/dash', 0o644)
    tree.write('usr/share/python3', '#!/usr/bin/node\n', 0o755)
    tree.link('srv/perl', '../opt/x/busybox')
    expect(findInterpreters(tree, tree.entries())).toEqual([
      'opt/x/busybox',
      'srv/perl',
      'usr/lib/klibc/bin/sh',
      'usr/local/bin/bash',
      'usr/share/python3',
      'var/dash',
    ])
  })

  it('passes data and folders of such a name', () => {
    tree.write('usr/share/bash-completion/completions/bash', 'complete')
    tree.write('usr/share/lua/5.4/x', '')
    tree.link('etc/sh', '/nowhere')
    expect(findInterpreters(tree, tree.entries())).toEqual([])
  })
})
