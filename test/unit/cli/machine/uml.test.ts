import { describe, expect, it } from 'vitest'
import { umlCell } from '../../../../agent/cli/machine/uml.ts'

const image = {
  folder: '/image',
  linux: '/image/linux',
  root: '/image/root.erofs',
  manifest: { version: '1', kernel: '6', commandLine: 'root=/dev/ubda ro' },
}
const tools = { command: () => ['enter'], file: (path: string) => path }
const needs = { name: 'cp-1', folder: '/work', network: 7, kernelArguments: ['debug'] }

describe('a machine of User-Mode Linux', () => {
  it('starts the kernel with a root that nothing writes, and addresses of its own network', () => {
    const cell = umlCell(image, tools, {
      needs,
      disks: { state: '/machines/cp-1.state', seed: '/machines/seed' },
    })
    expect(cell).toMatchObject({ address: '10.0.7.2/24', guest: '10.0.7.15' })
    expect(cell.command.slice(0, 2)).toEqual(['enter', '/image/linux'])
    expect(cell.command).toEqual(
      expect.arrayContaining([
        ...['ubd0r=/image/root.erofs', 'ubd1=/machines/cp-1.state', 'ubd2r=/machines/seed', 'debug'],
        'ip=10.0.7.15::10.0.7.2:255.255.255.0::vec0:none',
      ]),
    )
  })

  it('has no third disk without user data', () => {
    const cell = umlCell(image, tools, { needs, disks: { state: '/s', seed: undefined } })
    expect(cell.command.filter((word) => word.startsWith('ubd'))).toEqual([
      'ubd0r=/image/root.erofs',
      'ubd1=/s',
    ])
  })
})
