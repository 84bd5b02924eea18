import { describe, expect, it } from 'vitest'
import { readFlags } from '../../../agent/gateway/flags.ts'

const needed = ['--core', '/run/core.sock', '--identity', '/run/identity.json']

describe('the flags of the gateway', () => {
  it('BR-056 take every unambiguous form of an address', () => {
    const listen = ['127.0.0.1:5', '[2001:db8::5]:50000', '2001:db8::5', '::', '[::1]:0', 'node-a'].flatMap(
      (one) => ['--listen', one],
    )
    expect(readFlags([...listen, ...needed]).listen).toEqual([
      { host: '127.0.0.1', port: 5 },
      { host: '2001:db8::5', port: 50000 },
      { host: '2001:db8::5', port: 50000 },
      { host: '::', port: 50000 },
      { host: '::1', port: 0 },
      { host: 'node-a', port: 50000 },
    ])
  })

  it.each([
    [[]],
    [['--listen', '127.0.0.1:1']],
    [['--listen', '2001:db8::5:99999', ...needed]],
    [['--listen', '127.0.0.1:1', ...needed, '--rate', '0']],
    [['--listen', '127.0.0.1:1', ...needed, '--rate', '-1']],
    [['--listen', '127.0.0.1:1', ...needed, '--unknown']],
    [['--listen', '127.0.0.1:1', ...needed, 'positional']],
  ])('refuse %j', (argv) => {
    expect(() => readFlags(argv)).toThrow()
  })
})
