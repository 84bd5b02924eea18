/** `stelectl cluster` as a person runs it: processes of its own, killed in the middle, machines that outlive them. Needs an image and QEMU. */
import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Terminal } from '../component/cli/stelectl.ts'
import { BOOT_MS, imageUnderTest, REPOSITORY } from './under-test.ts'

let terminal: Terminal
let create: readonly string[]
beforeAll(async () => {
  terminal = await Terminal.open()
  // Where a checkout has the tools of its builds.
  symlinkSync(join(REPOSITORY, '.cache'), join(terminal.directory, '.cache'))
  const image = imageUnderTest().folder
  create = [
    'cluster',
    'create',
    'demo',
    '--image',
    image,
    '--boot',
    'kernel',
    '--disk',
    '4',
    '--timeout',
    '5m',
  ]
})
afterAll(async () => {
  await terminal.run('cluster', 'destroy', 'demo', '--yes')
  await terminal[Symbol.asyncDispose]()
})

type Row = { readonly node: string; readonly state: string; readonly pid?: number }
async function rows(): Promise<readonly Row[]> {
  const { exit, stdout, stderr } = await terminal.run('cluster', 'show', 'demo', '-o', 'json')
  expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
  return JSON.parse(stdout) as readonly Row[]
}

/** Commands of processes that name the folder of this test's clusters. */
function machines(): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(commandOf)
    .filter((command) => command.includes(terminal.directory) && command.includes('qemu-system'))
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    // It ended while we looked.
    return ''
  }
}

describe('a cluster of machines', { timeout: 2 * BOOT_MS }, () => {
  it('is planned without anything being made', async () => {
    const { exit, stdout } = await terminal.run(...create, '--dry-run', '-o', 'json')
    expect(exit).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      dryRun: true,
      steps: [
        ...[{ kind: 'record' }, { kind: 'secrets' }, { kind: 'image' }],
        ...[
          { kind: 'power-on', node: 'demo-cp-1' },
          { kind: 'power-on', node: 'demo-worker-1' },
        ],
        { kind: 'context' },
      ],
    })
    expect((await terminal.run('cluster', 'show', 'demo')).exit).not.toBe(0)
  })

  it('outlives a command that is killed when the first machine is on', async () => {
    const child = terminal.start(...create)
    if (child.stderr === null) throw new Error('the command has no stderr')
    const said: string[] = []
    for await (const line of createInterface({ input: child.stderr })) {
      said.push(line)
      if (line.startsWith('demo-cp-1  on, process ')) break
    }
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    expect(said.at(-1)).toMatch(/^demo-cp-1 {2}on, process \d+, (kvm|emulation)$/)
    expect(await rows()).toMatchObject([
      { node: 'demo-cp-1', state: 'running' },
      { node: 'demo-worker-1', state: 'stopped' },
    ])
  })

  it('is gone on with by the same command, which says what is left; the worker gets its certificate from the control plane', async () => {
    const [before] = await rows()
    const { exit, stderr } = await terminal.run(...create)
    expect(stderr).toContain(
      'the cluster demo is there, demo-cp-1 on; left to do: demo-worker-1 on, its context',
    )
    expect(stderr).toMatch(/^demo-worker-1 {2}ready/m)
    expect(exit).toBe(0)
    expect(await rows()).toMatchObject([
      { node: 'demo-cp-1', state: 'running', pid: before?.pid },
      { node: 'demo-worker-1', state: 'running' },
    ])
    const status = await terminal.run('--context', 'demo', 'status', '-o', 'json')
    expect(status.exit).toBe(0)
    expect(JSON.parse(status.stdout)).toMatchObject([
      { node: 'demo-cp-1', role: 'control-plane', state: 'running' },
      { node: 'demo-worker-1', role: 'worker', state: 'running' },
    ])
  })

  it('is not made again with other options, and not while it is whole', async () => {
    const other = await terminal.run(...create, '--workers', '2')
    expect(other).toMatchObject({ stdout: '', exit: 2 })
    expect(other.stderr).toContain('made with --workers 1')
    const again = await terminal.run(...create)
    expect(again.exit).toBe(0)
    expect(again.stderr).toContain('left to do: nothing')
  })

  it('is not taken away unless someone says yes', async () => {
    const before = await rows()
    const dry = await terminal.run('cluster', 'destroy', 'demo', '--dry-run')
    expect(dry).toMatchObject({ exit: 0, stderr: '' })
    expect(dry.stdout).toMatch(/would destroy the cluster demo:\n {2}ends demo-cp-1, demo-worker-1\n/)
    const refused = await terminal.run('cluster', 'destroy', 'demo')
    expect(refused.exit).toBe(2)
    expect(refused.stderr).toContain('--yes')
    expect(await rows()).toEqual(before)
  })

  it('is shut down by the API of its nodes, workers first', async () => {
    const { exit, stdout, stderr } = await terminal.run('cluster', 'stop', 'demo')
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
    expect(stdout).toMatch(/^demo-worker-1 shut down {2}.*\ndemo-cp-1 shut down {2}/)
    expect(machines()).toEqual([])
  })

  it('leaves no process, no file and no context when it is destroyed', async () => {
    expect((await terminal.run('cluster', 'start', 'demo', '--no-wait')).exit).toBe(0)
    expect(machines().length).toBeGreaterThan(0)
    const { exit, stdout } = await terminal.run('cluster', 'destroy', 'demo', '--yes')
    expect(exit).toBe(0)
    expect(stdout).toContain('the cluster demo is gone; ended demo-cp-1, demo-worker-1')
    expect(machines()).toEqual([])
    expect(existsSync(join(terminal.directory, '.local/state/stele/clusters/demo'))).toBe(false)
    expect((await terminal.run('--context', 'demo', 'status')).stderr).toContain('demo')
    expect((await terminal.run('cluster', 'destroy', 'demo', '--yes')).stderr).toContain(
      'there is no cluster demo',
    )
  })
})
