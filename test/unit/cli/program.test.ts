import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { systemClock } from '#kit/clock'
import { CliFault } from '../../../agent/cli/fault.ts'
import { buildProgram, runProgram } from '../../../agent/cli/program.ts'
import type { ExitCode } from '../../../agent/cli/failure.ts'
import { capture } from './capture.ts'

async function run(words: readonly string[], signal = new AbortController().signal) {
  const { output, stdout, stderr } = capture()
  let exit: ExitCode = 0
  const host = {
    env: { STELECTL_CONFIG: '/nonexistent/config.yaml' },
    output,
    signal,
    clock: systemClock,
    confirm: undefined,
    settle: (code: ExitCode) => {
      exit = code
    },
  }
  const program = buildProgram(host)
  await runProgram(program, host, words)
  return { exit, stdout: stdout(), stderr: stderr(), program }
}

function leaves(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leaves)
}

describe('the command line', () => {
  it('has a description and an example for every verb, and the shared options on each', async () => {
    const { program } = await run(['--version'])
    for (const leaf of leaves(program).filter((one) => one.name() !== 'complete')) {
      expect(leaf.description(), leaf.name()).not.toBe('')
      let shown = ''
      leaf.configureOutput({ writeOut: (text) => (shown += text) })
      leaf.outputHelp()
      expect(shown, leaf.name()).toContain('\nExamples:\n  $ stelectl ')
      expect(leaf.options.map(({ long }) => long)).toEqual(
        expect.arrayContaining(['--context', '--config', '--nodes', '--output', '--timeout']),
      )
    }
  })

  it('never takes a password or a key as an option', async () => {
    const { program } = await run(['--version'])
    const names = leaves(program).flatMap((leaf) => leaf.options.map(({ long }) => long ?? ''))
    expect(names.filter((name) => /pass|key|secret-/.test(name))).toEqual([])
  })

  it.each([
    [['statsu'], 'did you mean status?'],
    [['config', 'contxts'], 'did you mean contexts?'],
    [['reboot', '--mod', 'forced'], 'did you mean --mode?'],
    [['reboot', '--no-wait'], 'hint:  say --wait false\n'],
    [['service', 'restart'], 'hint:  stelectl service restart --help shows what it takes\n'],
    [['apply', '-f', 'x', '--try', '1s'], 'hint:  the shortest is 5s\n'],
    [['apply', '-f', 'x', '--stage', '--try', '5s'], 'hint:  --try takes effect now'],
    [['token', 'create', '--ttl', '366d'], 'hint:  the longest is 365d\n'],
    [['token', 'create', '--max-uses', '0'], 'hint:  leave it out for any number of nodes\n'],
    [['cert', 'deny', 'zz'], 'hint:  stelectl whoami'],
    [['validate', '/'], 'hint:  name a file'],
  ])('exits 2 and says what %j should have been', async (words, hint) => {
    const { exit, stderr } = await run(words)
    expect(exit).toBe(2)
    expect(stderr).toContain(hint)
  })

  it.each([
    [['gen']],
    [['logs']],
    [['status', 'extra']],
    [['status', '--timeout', '5']],
    [['logs', 'core', '--tail', '-1']],
    [['status', '--nodes', ',']],
    [['apply', '--stage']],
    [['apply', '-f', 'x', '--stage', '--try', '5s']],
    [['cert', 'deny', 'xyz']],
  ])('exits 2 for %j', async (words) => {
    expect((await run(words)).exit).toBe(2)
  })

  it('takes shared options before and after the verb, the one nearest to the operands winning', async () => {
    const before = await run(['-o', 'json', 'status'])
    const after = await run(['-o', 'yaml', 'status', '-o', 'json'])
    expect(JSON.parse(before.stderr)).toMatchObject({ error: { code: 'context_file_missing' } })
    expect(JSON.parse(after.stderr)).toMatchObject({ error: { code: 'context_file_missing' } })
  })

  it('says nothing and exits 130 after an interruption', async () => {
    const signal = AbortSignal.abort(new CliFault('interrupted', 'interrupted'))
    expect(await run(['status'], signal)).toMatchObject({ exit: 130, stderr: '' })
  })
})
