import { describe, expect, it } from 'vitest'
import { lostOptions } from '../../../../images/step/uml-kernel.ts'

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
