import { describe, expect, it } from 'vitest'
import type { Context } from '../../../agent/cli/context.ts'
import { selectTargets } from '../../../agent/cli/nodes.ts'

const context: Context = {
  nodes: [
    { name: 'cp-1', endpoint: '127.0.0.1' },
    { name: 'worker-1', endpoint: '[2001:db8::5]:50010' },
  ],
  authorities: '',
  certificate: '',
  privateKey: '',
}

describe('selectTargets', () => {
  it('takes all nodes of the context unless some are named', () => {
    expect(selectTargets(context, undefined)).toEqual([
      { name: 'cp-1', endpoint: { host: '127.0.0.1', port: 50000 } },
      { name: 'worker-1', endpoint: { host: '2001:db8::5', port: 50010 } },
    ])
    expect(selectTargets(context, ['worker-1']).map(({ name }) => name)).toEqual(['worker-1'])
  })

  it.each([
    ['2001:db8::5', '2001:db8::5', 50000],
    ['[2001:db8::5]:50000', '2001:db8::5', 50000],
    ['[2001:db8::5]', '2001:db8::5', 50000],
    ['node-a:50000', 'node-a', 50000],
    ['node-a.example', 'node-a.example', 50000],
    ['10.0.0.7:1', '10.0.0.7', 1],
  ])('reads the endpoint %s (BR-056)', (text, host, port) => {
    expect(selectTargets(context, [text])).toEqual([{ name: text, endpoint: { host, port } }])
  })

  it.each([
    '2001:db8::5:50000:1',
    '2001:db8::1::50000',
    'fe80::1%eth0',
    '10.0.0.300',
    'a:0',
    'a:65536',
    'a b',
  ])('refuses %s as an endpoint (BR-056)', (text) => {
    expect(() => selectTargets(context, [text])).toThrow(expect.objectContaining({ code: 'node_unknown' }))
  })

  it('takes a bare word for a name, and says which names there are', () => {
    expect(() => selectTargets(context, ['worker-2'])).toThrow(
      expect.objectContaining({ code: 'node_unknown', hint: 'nodes: cp-1, worker-1' }),
    )
  })

  it('asks for a node when the context has none', () => {
    expect(() => selectTargets({ ...context, nodes: [] }, undefined)).toThrow(
      expect.objectContaining({ code: 'node_unknown' }),
    )
  })
})
