import { describe, expect, it } from 'vitest'
import { addressOwner, plainAddress } from '#rpc'

describe('whom an address is counted for', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::1', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ])('%s counts for %s', (address, owner) => {
    expect(addressOwner(address)).toBe(owner)
  })

  it('is unknown when there is none', () => {
    expect(plainAddress(undefined)).toBe('unknown')
  })
})
