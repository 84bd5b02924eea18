import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { systemClock } from '#kit/clock'
import { completeWord, readPosition } from '../../../agent/cli/candidate.ts'
import { BASH_SCRIPT } from '../../../agent/cli/completion-bash.ts'
import { buildProgram } from '../../../agent/cli/program.ts'
import { capture } from './capture.ts'

const program = buildProgram({
  env: {},
  output: capture().output,
  signal: new AbortController().signal,
  clock: systemClock,
  confirm: undefined,
  settle: () => undefined,
})
const known = {
  contexts: ['demo', 'lab'],
  nodes: ['cp-1', 'cp-2', 'worker-1'],
  services: ['core', 'gateway'],
  clusters: ['demo', 'stele'],
}

function complete(...words: readonly string[]): readonly string[] | 'files' {
  const completion = completeWord(readPosition(program, words.slice(0, -1)), words.at(-1) ?? '', known)
  return completion.kind === 'files' ? 'files' : completion.all.map(({ value }) => value)
}

describe('completeWord', () => {
  it.each([
    [
      ['--nodes', ''],
      ['cp-1', 'cp-2', 'worker-1'],
    ],
    [
      ['status', '-n', 'cp-1,'],
      ['cp-1,cp-2', 'cp-1,worker-1'],
    ],
    [['status', '--nodes=cp-2,c'], ['cp-2,cp-1']],
    [['status', '--context', 'l'], ['lab']],
    [
      ['logs', ''],
      ['core', 'gateway', 'audit'],
    ],
    [
      ['service', 'restart', ''],
      ['core', 'gateway'],
    ],
    [['service', 'restart', 'core', ''], []],
    [
      ['-o', 'json', 'reboot', '--mode', ''],
      ['default', 'forced'],
    ],
    [['reboot', '--wait', 'f'], ['false']],
    [['config', 'remove', 'd'], ['demo']],
    [['comp'], ['completion']],
    [['apply', '--dry'], ['--dry-run']],
    [['help', 'ev'], ['events']],
    [
      ['cluster', ''],
      ['create', 'start', 'show', 'stop', 'destroy'],
    ],
    [
      ['cluster', 'destroy', ''],
      ['demo', 'stele'],
    ],
    [['cluster', 'start', 's'], ['stele']],
    [['cluster', 'destroy', 'demo', ''], []],
    [['cluster', 'create', ''], []],
    [
      ['cluster', 'create', 'demo', '--boot', ''],
      ['firmware', 'kernel'],
    ],
    [['cluster', 'destroy', 'demo', '--dry'], ['--dry-run']],
  ])('goes on with %j', (words, candidates) => {
    expect(complete(...words)).toEqual(candidates)
  })

  it.each([
    [['validate', '']],
    [['apply', '-f', '']],
    [['render', '--file=x']],
    [['gen', 'secrets', '-o', '']],
    [['config', 'merge', 'a']],
    [['cluster', 'create', '--image', '']],
  ])('leaves paths to the shell in %j', (words) => {
    expect(complete(...words)).toBe('files')
  })

  it('notes the context and the file that the words choose', () => {
    expect(readPosition(program, ['-c', 'lab', 'status', '--config=x']).given).toEqual({
      context: 'lab',
      config: 'x',
    })
  })
})

describe('the script for bash', () => {
  // Of a shell that never heard of the package bash-completion.
  const press = (line: string, answer: string): string =>
    execFileSync(
      'bash',
      [
        '--norc',
        '-c',
        `${BASH_SCRIPT}
stelectl() { printf '%s\\n' "asked: $*" >&2; printf '%b' "$ANSWER"; }
compopt() { :; }
COMP_LINE=$LINE COMP_POINT=\${#LINE}
__stelectl_complete 2>&1
printf '[%s]\\n' "\${COMPREPLY[@]}"`,
      ],
      { env: { PATH: process.env['PATH'], LINE: line, ANSWER: answer }, encoding: 'utf8' },
    )

  it('works in a bare shell, and takes descriptions off', () => {
    expect(press('stelectl st', 'status\\tshow\\n:4\\n')).toBe('[status]\n')
    expect(press('stelectl status --nodes=cp-1,', 'cp-1,cp-2\\ncp-1,x\\n:4\\n')).toBe(
      '[cp-1,cp-2]\n[cp-1,x]\n',
    )
    expect(press('stelectl validate ', ':0\\n')).toBe('[]\n')
  })
})
