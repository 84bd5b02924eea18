import { mkdtempSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { closure, pruneLinks, prunePrograms } from '../../../../images/step/prune.ts'
import { definitions } from '../../../../images/step/repart.ts'
import { settleUnits, UNITS } from '../../../../images/step/unit.ts'
import { Tree } from '../../../../images/tree.ts'

let tree: Tree
beforeEach(() => {
  tree = new Tree(mkdtempSync(join(tmpdir(), 'root-')))
})
afterEach(() => rmSync(tree.folder, { recursive: true }))

describe('the units of a root', () => {
  it('are on when the contents say so, and for no other reason', () => {
    tree.write('usr/bin/a', '', 0o755)
    for (const name of ['a', 'b']) tree.write(`${UNITS}/${name}.service`, '[Service]\nExecStart=/usr/bin/a\n')
    tree.link(`${UNITS}/multi-user.target.wants/b.service`, '../b.service')
    tree.write('etc/systemd/system/c.service', 'x')
    settleUnits(tree, { enable: [{ unit: 'a.service', target: 'multi-user.target' }], disable: [] })
    expect(tree.list(`${UNITS}/multi-user.target.wants`)).toEqual(['a.service'])
    expect(tree.has('etc/systemd')).toBe(false)
  })

  it('go when their program or service is gone', () => {
    tree.write(`${UNITS}/shell.service`, '[Service]\nExecStart=-/bin/sh\n')
    tree.write(`${UNITS}/shell.socket`, '[Socket]\nListenStream=1\n')
    settleUnits(tree, { enable: [], disable: [] })
    expect(tree.list(UNITS).filter((name) => name.startsWith('shell'))).toEqual([])
  })

  it('cannot be enabled when they are not there', () => {
    const enable = [{ unit: 'x.service', target: 'y.target' }]
    expect(() => settleUnits(tree, { enable, disable: [] })).toThrow(
      expect.objectContaining({ code: 'input_missing' }),
    )
  })
})

describe('pruning', () => {
  it('keeps named programs, and refuses a name that nothing has', () => {
    for (const name of ['keep', 'sh']) tree.write(`usr/bin/${name}`, '', 0o755)
    expect(prunePrograms(tree, ['usr/bin/keep'])).toEqual(['usr/bin/keep'])
    expect(tree.list('usr/bin')).toEqual(['keep'])
    expect(() => prunePrograms(tree, ['usr/bin/gone'])).toThrow(
      expect.objectContaining({ code: 'input_missing' }),
    )
  })

  it('removes chains of links that lead nowhere, and keeps those into /run', () => {
    tree.link('a', 'b')
    tree.link('b', 'gone')
    tree.link('etc/resolv.conf', '/run/resolv.conf')
    pruneLinks(tree, (path) => readlinkSync(tree.at(path)))
    expect(tree.entries().map(({ path }) => path)).toEqual(['etc', 'etc/resolv.conf'])
  })

  it('follows a link to what it leads to', () => {
    tree.write('usr/bin/real', '')
    tree.link('usr/bin/name', 'real')
    expect([...closure(tree, ['usr/bin/name'])]).toEqual(['usr/bin/name', 'usr/bin/real'])
  })
})

describe('the partition table', () => {
  const layout = {
    partitions: { espMiB: 300, rootMiB: 512, verityMiB: 16 },
    epoch: 0,
    seed: 's',
    version: '1.2.3',
  }
  it('has slots of their final size, so that the second slot fits behind the first', () => {
    const text = definitions(layout, { root: '/r', esp: '/e' })['10-root.conf']
    expect(text).toContain('SizeMinBytes=512M')
    expect(text).toContain('SizeMaxBytes=512M')
    expect(text).toContain('Label=stele_1.2.3\n')
  })
})
