import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { kernelArguments, noCloudHints } from '../../../../agent/core/linux/kernel-argument.ts'

describe('kernelArguments', () => {
  it.each([
    ['quiet stele.userdata=/seed panic=10', ['/seed']],
    ['stele.userdata=http://a/b stele.userdata=/c', ['http://a/b', '/c']],
    ['stele.userdata="/with blank/x" quiet', ['/with blank/x']],
    ['"stele.userdata=/with blank/y"', ['/with blank/y']],
    ['stele.userdata= stele.userdata', []],
    ['xstele.userdata=/no stele.userdatax=/no', []],
    ['', []],
  ])('reads %j', (line, values) => {
    expect(kernelArguments(line, 'stele.userdata')).toEqual(values)
  })

  it('finds a value wherever it stands, and nothing in other text', () => {
    const word = fc.stringMatching(/^[a-z0-9./=:-]{1,20}$/)
    fc.assert(
      fc.property(fc.array(word), fc.array(word), word, (before, after, value) => {
        const line = [...before, `stele.userdata=${value}`, ...after].join(' ')
        expect(kernelArguments(line, 'stele.userdata')).toContain(value)
      }),
    )
  })
})

describe('noCloudHints', () => {
  it('reads a serial number as clouds and hypervisors write it', () => {
    expect(noCloudHints('ds=nocloud;s=http://10.0.0.1/seed/;h=cp-1\n')).toEqual({
      seedFrom: 'http://10.0.0.1/seed/',
      hostname: 'cp-1',
    })
    expect(noCloudHints('ds=nocloud-net;seedfrom=http://a/?x=1')?.seedFrom).toBe('http://a/?x=1')
    expect(noCloudHints('ds=nocloud')).toEqual({ seedFrom: undefined, hostname: undefined })
  })

  it.each(['', 'VMware-56 4d', 'ds=nocloudy;s=http://a/', 'x;ds=nocloud;s=http://a/'])(
    'takes %j for a plain serial number',
    (text) => expect(noCloudHints(text)).toBeUndefined(),
  )
})
