import { describe, expect, it } from 'vitest'
import { wantsColour } from '../../../agent/cli/output.ts'
import { capture } from './capture.ts'

const failure = {
  code: 'role_missing',
  status: 'PERMISSION_DENIED',
  message: 'role "stele:reader" may not call stele.agent.v1.SystemService/Reboot',
  hint: 'use a context whose certificate carries role stele:operator or stele:admin',
  exit: 4,
} as const

describe('Output', () => {
  it('prints an error and its hint on stderr, aligned', () => {
    const { output, stdout, stderr } = capture()
    output.failure(failure)
    expect(stdout()).toBe('')
    expect(stderr()).toBe(
      'error: PERMISSION_DENIED: role "stele:reader" may not call stele.agent.v1.SystemService/Reboot\n' +
        'hint:  use a context whose certificate carries role stele:operator or stele:admin\n',
    )
  })

  it('prints an error as one JSON object with -o json', async () => {
    const { output, stderr } = capture()
    await output.use('json')
    output.failure(failure, { node: 'worker-1' })
    expect(JSON.parse(stderr())).toEqual({
      error: {
        code: 'role_missing',
        status: 'PERMISSION_DENIED',
        message: failure.message,
        hint: failure.hint,
        node: 'worker-1',
      },
    })
  })

  it('uses colours and progress on a terminal only', () => {
    const piped = capture({ colour: true })
    piped.output.failure(failure)
    piped.output.progress().update('stopping gateway')
    expect(piped.stderr()).not.toContain('\u001b')
    const terminal = capture({ colour: true, isTTY: true })
    terminal.output.failure(failure)
    expect(terminal.stderr()).toContain('\u001b[31merror:')
  })

  it('never uses colours with NO_COLOR', () => {
    expect(wantsColour({ NO_COLOR: '1' })).toBe(false)
    expect(wantsColour({ NO_COLOR: '' })).toBe(true)
    expect(wantsColour({ TERM: 'dumb' })).toBe(false)
    const { output, stderr } = capture({ colour: false, isTTY: true })
    output.failure(failure)
    expect(stderr()).not.toContain('\u001b')
  })

  it('escapes what could steer the terminal in a message of a node', () => {
    const { output, stderr } = capture({ isTTY: true })
    output.failure({ ...failure, message: 'gone\u001b]0;title\u0007\u202e' })
    expect(stderr()).toContain('gone\\x1b]0;title\\x07\\u202e')
  })

  it('prints the elements of a stream one object a line', async () => {
    const { output, stdout } = capture()
    await output.use('json')
    output.item({ a: 1n }, () => '')
    output.item({ at: new Date(0) }, () => '')
    expect(stdout()).toBe('{"a":1}\n{"at":"1970-01-01T00:00:00.000Z"}\n')
  })

  it('prints YAML that holds the same data', async () => {
    const { output, stdout } = capture()
    await output.use('yaml')
    output.result([{ node: 'cp-1', revision: 3n }], () => '')
    expect(stdout()).toBe('- node: cp-1\n  revision: 3\n')
  })
})
