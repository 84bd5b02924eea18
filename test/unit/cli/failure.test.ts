import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CommanderError } from 'commander'
import { Fault } from '#kit/fault'
import { CliFault } from '../../../agent/cli/fault.ts'
import { EXIT_CODES, isTransient, toFailure, worstExit } from '../../../agent/cli/failure.ts'
import { usageFailure } from '../../../agent/cli/program.ts'

class Answer extends Fault<string> {
  readonly status: string
  constructor(status: string, code: string, hint?: string) {
    super(code, 'a sentence', hint === undefined ? {} : { hint })
    this.status = status
  }
}

describe('toFailure', () => {
  it.each([
    ['unauthenticated', 'certificate_refused', 3],
    ['unavailable', 'certificate_refused', 3],
    ['permission_denied', 'role_missing', 4],
    ['unavailable', 'node_unreachable', 5],
    ['deadline_exceeded', 'deadline_exceeded', 5],
    ['invalid_argument', 'config_invalid', 6],
    ['invalid_argument', 'key_invalid', 1],
    ['aborted', 'revision_conflict', 7],
    ['already_exists', 'already_exists', 7],
    ['internal', 'internal', 1],
  ])('exits for %s / %s with %d', (status, code, exit) => {
    expect(toFailure(new Answer(status, code))).toMatchObject({ exit, code, status: status.toUpperCase() })
  })

  it('keeps the hint and the incident of the node', () => {
    const error = Object.assign(new Answer('internal', 'internal', 'tell the operator'), { incident: 'a1b2' })
    expect(toFailure(error)).toMatchObject({ hint: 'tell the operator', incident: 'a1b2' })
  })

  it('tells a system error by its call and path, and never with a stack', () => {
    const error = Object.assign(new Error('x'), { code: 'EACCES', syscall: 'open', path: 'out/worker.yaml' })
    expect(toFailure(error).message).toBe('open failed with EACCES on out/worker.yaml')
  })

  it('never throws and always gives a documented exit, whatever was thrown', () => {
    const documented = EXIT_CODES.map(([code]) => code)
    fc.assert(
      fc.property(fc.anything(), (thrown) => {
        expect(documented).toContain(toFailure(thrown).exit)
      }),
    )
  })

  it('keeps every exit of its own table among the documented ones', () => {
    expect(toFailure(new CliFault('invalid_document', 'm')).exit).toBe(6)
    expect(toFailure(new CliFault('nodes_unnamed', 'm')).exit).toBe(2)
    expect(toFailure(new CliFault('interrupted', 'm')).exit).toBe(130)
  })
})

describe('isTransient', () => {
  it('is true for a broken way and false for a refused certificate (BR-055)', () => {
    expect(isTransient(new Answer('unavailable', 'node_unreachable'))).toBe(true)
    expect(isTransient(new Answer('unavailable', 'certificate_refused'))).toBe(false)
    expect(isTransient(new Answer('permission_denied', 'role_missing'))).toBe(false)
    expect(isTransient(new Error('boom'))).toBe(false)
  })
})

describe('worstExit', () => {
  it('takes the highest, and the interruption above all', () => {
    expect(worstExit([])).toBe(0)
    expect(worstExit([0, 5, 1])).toBe(5)
    expect(worstExit([7, 130, 4])).toBe(130)
  })
})

describe('usageFailure', () => {
  it('turns a guess of the parser into a hint', () => {
    const error = new CommanderError(
      1,
      'commander.unknownCommand',
      "error: unknown command 'statsu'\n(Did you mean status?)",
    )
    expect(usageFailure(error)).toMatchObject({
      message: "unknown command 'statsu'",
      hint: 'did you mean status?',
      exit: 2,
    })
  })
})
