import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { look, overBudget } from '../../../../images/step/inspect.ts'
import { Tree } from '../../../../images/tree.ts'

let tree: Tree
beforeEach(() => {
  tree = new Tree(mkdtempSync(join(tmpdir(), 'root-')))
})
afterEach(() => rmSync(tree.folder, { recursive: true }))

const budgets = { executables: 0, interpreters: ['usr/bin/node'], setuidFiles: 0, ports: [50000] }

describe('the budgets of a root', () => {
  it('are kept by one that holds only data', () => {
    tree.write('usr/share/zoneinfo/UTC', 'x')
    tree.write('usr/bin/node', 'x', 0o755)
    expect(overBudget(look(tree), budgets)).toEqual([])
  })

  it.each([
    'sh',
    'bash',
    'dash',
    'busybox',
    'perl5.40',
    'python3',
    'python3.13',
    'mawk',
    'apt-get',
    'dpkg',
    'npm',
  ])('refuse %s, a link too', (name) => {
    tree.link(`usr/bin/${name}`, 'node')
    expect(overBudget(look(tree), budgets)).toEqual([
      `shells, interpreters or package managers: usr/bin/${name}`,
    ])
  })

  it('refuse an executable script, a setuid file and one program too many', () => {
    tree.write('usr/bin/run-parts', '#!/bin/sh\n', 0o755)
    tree.write('usr/bin/mount', 'x', 0o755)
    chmodSync(tree.at('usr/bin/mount'), 0o4755)
    expect(overBudget(look(tree), budgets)).toEqual([
      'setuid files: usr/bin/mount',
      'executable scripts: usr/bin/run-parts',
    ])
    const report = { ...look(tree), setuid: [], scripts: [], executables: ['a', 'b'] }
    expect(overBudget(report, { ...budgets, executables: 1 })).toEqual(['2 executables, budget 1'])
  })

  it('refuse a script whose name looks like that of a library', () => {
    tree.write('usr/lib/evil.so.sh', '#!/bin/sh\n', 0o755)
    tree.write('usr/lib/evil.so.1', '#!/bin/sh\n', 0o755)
    expect(look(tree).scripts).toEqual(['usr/lib/evil.so.1', 'usr/lib/evil.so.sh'])
  })

  it('refuse a unit that listens on another port', () => {
    tree.write('usr/lib/systemd/system/a.socket', '[Socket]\nListenStream=[::]:22\nListenStream=/run/x\n')
    tree.write('usr/lib/systemd/system/b.service', 'ExecStart=/x --listen [::]:50000\n')
    expect(overBudget(look(tree), budgets)).toEqual(['units that listen on 22'])
  })

  it('refuse a unit that listens where no port is', () => {
    tree.write('usr/lib/systemd/system/a.socket', '[Socket]\nListenStream=vsock::50000\n')
    expect(overBudget(look(tree), budgets)).toEqual([
      'units that listen elsewhere: usr/lib/systemd/system/a.socket: ListenStream=vsock::50000',
    ])
  })
})
