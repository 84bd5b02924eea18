import { describe, expect, it } from 'vitest'
import { accelerationOf } from '../../../../agent/cli/machine/detached.ts'

const file = '/clusters/demo/nodes/cp-1/cp-1.pid'
const qemu = (...args: readonly string[]) => ['/usr/bin/qemu-system-x86_64', '-m', '2048', ...args, '']

describe('the process of a machine', () => {
  it('is a QEMU that names the machine’s pid file, and tells what it runs on', () => {
    expect(accelerationOf(qemu('-accel', 'kvm', '-pidfile', file), file)).toBe('kvm')
    expect(accelerationOf(qemu('-accel', 'tcg', '-pidfile', file), file)).toBe('emulation')
  })

  it.each([
    ['nothing, as of a process that is gone', []],
    ['another program that took the number', ['/usr/bin/vim', file]],
    ['a program that enters a tools tree', ['/usr/bin/bwrap', '--', ...qemu('-pidfile', file)]],
    ['a QEMU without a pid file', qemu()],
    ['the QEMU of another machine', qemu('-pidfile', `${file}.other`)],
    ['a QEMU that names the file elsewhere', qemu('-serial', file, '-pidfile', '/other')],
    ['a QEMU whose command is cut off', qemu('-pidfile').slice(0, -1)],
  ])('is not %s', (_, command) => {
    expect(accelerationOf(command, file)).toBeUndefined()
  })
})
