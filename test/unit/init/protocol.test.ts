import { describe, expect, it } from 'vitest'
import { serviceCommands } from '../../../agent/init/command.ts'
import { parseRequest } from '../../../agent/init/control.ts'
import { nodeDirectory } from '../../../agent/init/node-directory.ts'

describe('parseRequest', () => {
  it('takes what the protocol has', () => {
    expect(parseRequest('{"command":"restart","name":"core"}')).toEqual({ command: 'restart', name: 'core' })
  })

  it.each([
    '',
    'x',
    'null',
    '[]',
    '{"command":"exec"}',
    '{"command":"start","name":"../sh"}',
    '{"command":"list","more":1}',
    '{"command":"reboot"}',
  ])('refuses %j', (line) => {
    expect(() => parseRequest(line)).toThrow(expect.objectContaining({ code: 'request_invalid' }))
  })
})

describe('nodeDirectory', () => {
  it('refuses a directory in which no socket can be bound', () => {
    expect(() => nodeDirectory(`/${'x'.repeat(100)}`)).toThrow(
      expect.objectContaining({ code: 'socket_path_too_long' }),
    )
  })
})

describe('serviceCommands', () => {
  it('brackets an IPv6 address and repeats what may be repeated', () => {
    const node = {
      version: 1 as const,
      name: 'cp-1',
      addresses: ['127.0.0.2', '::1'],
      gatewayPort: 50000,
      trustPort: 50001,
      userData: ['/seed', 'http://127.0.0.1/user-data'],
      programs: { core: ['node', 'core'], gateway: ['node', 'gateway'], trust: ['node', 'trust'] },
    }
    const commands = serviceCommands(node, nodeDirectory('/n'))
    expect(commands.gateway.join(' ')).toBe(
      'node gateway --listen 127.0.0.2:50000 --listen [::1]:50000 --core /n/run/core/gateway.sock --identity /n/run/gateway/identity.json',
    )
    expect(commands.core.join(' ')).toContain('--address 127.0.0.2 --address ::1')
    expect(commands.core.join(' ')).toContain('--user-data /seed --user-data http://127.0.0.1/user-data')
  })
})
