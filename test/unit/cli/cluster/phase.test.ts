import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PHASES, readConsole } from '../../../../agent/cli/cluster/phase.ts'

const boot = [
  '\x1b[2J\x1b[01;01H\x1b[=3hBdsDxe: starting Boot0002 "UEFI Misc Device"',
  'EFI stub: Booting initrd of its own',
  '[    0.000000] Linux version 6.12.1-amd64',
  'Welcome to Stele 0.1.0!',
  'M[\x1b[0;31m*     \x1b[0m] Job dev-stele-state.device running',
  '[  *   ] Job dev-stele-state.device running',
  'stele: Stele demo-cp-1  10.0.2.15  booting',
  'stele: Stele demo-cp-1  10.0.2.15  running',
]

describe('a console', () => {
  it('tells how far the machine is, line by line', () => {
    const phases = boot.map((_, index) => readConsole(boot.slice(0, index + 1).join('\r\n')).phase)
    expect(phases).toEqual([
      ...['firmware', 'kernel', 'kernel', 'system', 'system', 'system', 'API', 'certificate'],
    ])
    expect(readConsole('').phase).toBe('power')
  })

  it('tells why a node is stuck, until it says that it is not', () => {
    const stuck = [
      ...boot,
      'stele: Stele demo-cp-1  10.0.2.15  quarantine',
      'stele: stuck: STATE is gone',
      'stele: fix: more',
    ]
    expect(readConsole(stuck.join('\n')).stuck).toBe('stuck: STATE is gone')
    expect(
      readConsole([...stuck, 'stele: Stele demo-cp-1  10.0.2.15  running'].join('\n')).stuck,
    ).toBeUndefined()
  })

  it('is shown by its last ten lines, without what steers a terminal', () => {
    const { last } = readConsole([...boot, ...boot].join('\r\n'))
    expect(last).toHaveLength(10)
    expect(last.join('\n')).not.toMatch(/[\x00-\x09\x0b-\x1f]/)
    expect(last.join('\n')).not.toContain('Job dev-stele-state.device')
    expect(readConsole(boot[0] ?? '').last).toEqual(['BdsDxe: starting Boot0002 "UEFI Misc Device"'])
  })

  it('may hold anything', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 500 }), (text) => {
        const { phase, last } = readConsole(text)
        expect(PHASES).toContain(phase)
        expect(last.length).toBeLessThanOrEqual(10)
      }),
    )
  })
})
