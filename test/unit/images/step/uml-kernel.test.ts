import { describe, expect, it } from 'vitest'
import { changed, lostOptions } from '../../../../images/step/uml-kernel.ts'

const config = ['CONFIG_NET=y', '# CONFIG_HOSTFS is not set', 'CONFIG_MODULES=y', ''].join('\n')

describe('the options of a kernel fragment', () => {
  it('are lost when the configuration does not end with them', () => {
    expect(lostOptions('# Reason.\nCONFIG_NET=y\nCONFIG_VETH=y\n', config)).toEqual(['CONFIG_VETH=y'])
  })

  it('that are off are lost only when the configuration has them on', () => {
    expect(lostOptions('CONFIG_HOSTFS=n\nCONFIG_ABSENT=n\nCONFIG_MODULES=n', config)).toEqual([
      'CONFIG_MODULES=n',
    ])
  })
})

describe('a change of the kernel source', () => {
  const change = { from: 'open(TUN, O_RDWR)', to: 'open(TUN, O_RDWR | O_CLOEXEC)' }

  it('is made once, and not again', () => {
    const after = changed('fd = open(TUN, O_RDWR);', change)
    expect(after).toBe('fd = open(TUN, O_RDWR | O_CLOEXEC);')
    expect(changed(after, change)).toBe(after)
  })

  it.each(['', 'open(TUN, O_RDWR) open(TUN, O_RDWR)'])('that does not fit is refused: %j', (source) => {
    expect(() => changed(source, change)).toThrow(expect.objectContaining({ code: 'input_missing' }))
  })
})
