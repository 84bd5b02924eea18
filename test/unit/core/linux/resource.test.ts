import { describe, expect, it } from 'vitest'
import { bootPhases } from '../../../../agent/core/linux/resource.ts'

/** What `systemctl show` prints, in microseconds. */
function shown(moments: Readonly<Record<string, number>>): string {
  return Object.entries(moments)
    .map(([name, value]) => `${name}TimestampMonotonic=${value}\n`)
    .join('')
}

describe('the parts of a boot', () => {
  it('counts firmware and loader before the kernel, and the rest after it', () => {
    const text = shown({
      Firmware: 9_000_000,
      Loader: 2_000_000,
      InitRD: 1_500_000,
      Userspace: 4_000_000,
      Finish: 12_000_000,
    })
    expect(bootPhases(text)).toEqual([
      { name: 'firmware', ms: 7000 },
      { name: 'loader', ms: 2000 },
      { name: 'kernel', ms: 1500 },
      { name: 'initrd', ms: 2500 },
      { name: 'userspace', ms: 8000 },
    ])
  })

  it('has no firmware where the kernel was started directly, and no initrd where there was none', () => {
    const text = shown({ Firmware: 0, Loader: 0, InitRD: 0, Userspace: 900_000, Finish: 3_000_000 })
    expect(bootPhases(text)).toEqual([
      { name: 'kernel', ms: 900 },
      { name: 'userspace', ms: 2100 },
    ])
  })

  it('leaves out what has not ended', () => {
    const text = shown({ InitRD: 1_000_000, Userspace: 2_000_000, Finish: 0 })
    expect(bootPhases(text).map(({ name }) => name)).toEqual(['kernel', 'initrd'])
  })

  it('has none when systemd did not answer', () => {
    expect(bootPhases('')).toEqual([])
  })
})
