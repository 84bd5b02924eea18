import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findListening } from '../../../../images/step/listen.ts'
import { Tree } from '../../../../images/tree.ts'

let tree: Tree
beforeEach(() => {
  tree = new Tree(mkdtempSync(join(tmpdir(), 'root-')))
})
afterEach(() => rmSync(tree.folder, { recursive: true }))

const socket = (line: string) => `[Socket]\n${line}\n`

describe('the search for addresses that units listen on', () => {
  it.each([
    ['blanks around the sign', 'ListenStream = 1001'],
    ['a blank behind', 'ListenStream=1001  '],
    ['a blank before', '  ListenStream=1001'],
    ['a line that goes on', 'ListenStream=\\\n1001'],
    ['a line that goes on behind a comment', 'ListenStream=\\\n# what follows\n  1001'],
    ['an end of line of another system', 'ListenStream=1001\r'],
    ['datagrams', 'ListenDatagram=0.0.0.0:1001'],
    ['packets', 'ListenSequentialPacket=[::]:1001'],
    ['an interface', 'ListenStream=[fe80::1]:1001%eth0'],
  ])('reads %s', (_, line) => {
    tree.write('usr/lib/systemd/system/a.socket', socket(line))
    expect(findListening(tree)).toEqual({ ports: [1001], others: [] })
  })

  it.each([
    'etc/systemd/system/a.socket',
    'usr/local/lib/systemd/system/a.socket',
    'run/systemd/transient/a.socket',
    'usr/lib/systemd/user/a.socket',
    'usr/lib/systemd/system/a.socket.d/x.conf',
    'etc/systemd/system/socket.d/x.conf',
    'etc/systemd/system/a-.socket.d/x.conf',
  ])('reads %s', (path) => {
    tree.write(path, socket('ListenStream=1001'))
    expect(findListening(tree).ports).toEqual([1001])
  })

  it('follows a link to a unit and to a folder of drop-ins', () => {
    tree.write('opt/text', socket('ListenStream=1001'))
    tree.write('opt/more/x.conf', socket('ListenStream=1002'))
    tree.link('etc/systemd/system/a.socket', '/opt/text')
    tree.link('etc/systemd/system/b.socket.d', '/opt/more')
    tree.link('etc/systemd/system/masked.socket', '/dev/null')
    expect(findListening(tree).ports).toEqual([1001, 1002])
  })

  it.each(['--listen [::]:1001', '--listen=1001', '--listen "0.0.0.0:1001"', '--listen-address :1001 -v'])(
    'reads the flag %s of a service',
    (flag) => {
      tree.write('usr/lib/systemd/system/a.service', `[Service]\nExecStart=/x ${flag}\n`)
      expect(findListening(tree).ports).toEqual([1001])
    },
  )

  it('reports what is no port of the network, and what it cannot read', () => {
    const lines = ['ListenStream=vsock::1007', 'ListenStream=%I', 'ListenNew=x']
    tree.write('usr/lib/systemd/system/a.socket', socket(lines.join('\n')))
    expect(findListening(tree)).toEqual({
      ports: [],
      others: lines.map((line) => `usr/lib/systemd/system/a.socket: ${line}`),
    })
  })

  it('passes what stays on the node, comments, and flags that name no port', () => {
    tree.write(
      'usr/lib/systemd/system/a.socket',
      socket(
        [
          'ListenStream=/run/x1',
          'ListenDatagram=@a:22',
          'ListenNetlink=route 1361',
          'ListenFIFO=/run/f',
          '#ListenStream=1',
        ].join('\n'),
      ),
    )
    tree.write('usr/lib/systemd/system/a.service', 'ExecStart=/x --listen unix:/run/x --level 3\n')
    expect(findListening(tree)).toEqual({ ports: [], others: [] })
  })
})
