import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeAuthority, type TestAuthority } from './authority.ts'
import { StandIn } from './stand-in.ts'
import { collect, Terminal } from './stelectl.ts'

let authority: TestAuthority
let terminal: Terminal
let controlPlane: StandIn
let worker: StandIn

beforeAll(async () => {
  authority = await makeAuthority()
  terminal = await Terminal.open()
  controlPlane = await StandIn.start('cp-1', authority, { role: 1 })
  worker = await StandIn.start('worker-1', authority)
  const nodes = [controlPlane, worker]
  const trust = (person: Awaited<ReturnType<TestAuthority['person']>>) => ({
    authority: authority.certificate,
    person,
  })
  await terminal.addContext('demo', nodes, trust(await authority.person('ada', ['stele:admin'])))
  await terminal.addContext('reader', nodes, trust(await authority.person('rob', ['stele:reader'])))
  const gone = { name: 'gone-1', endpoint: '127.0.0.1:1' }
  await terminal.addContext(
    'half',
    [controlPlane, gone],
    trust(await authority.person('ada', ['stele:admin'])),
  )
})

afterAll(async () => {
  await controlPlane[Symbol.asyncDispose]()
  await worker[Symbol.asyncDispose]()
  await terminal[Symbol.asyncDispose]()
})

describe('looking', () => {
  it('shows every node in the table of the README', async () => {
    const { exit, stdout, stderr } = await terminal.run('status')
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
    expect(stdout.split('\n').map((line) => line.replace(/rev \d+/, 'rev N'))).toEqual([
      'NODE      ROLE           STATE    SERVICES  CONFIG',
      'cp-1      control-plane  running  2/2       rev N',
      'worker-1  worker         running  2/2       rev N',
      '',
    ])
  })

  it('keeps the answers beside a node that cannot be reached, and exits 5', async () => {
    const { exit, stdout, stderr } = await terminal.run('status', '--context', 'half')
    expect(exit).toBe(5)
    expect(stdout).toMatch(/^cp-1 +control-plane +running/m)
    expect(stdout).toMatch(/^gone-1 +- +unreachable/m)
    expect(stderr).toMatch(/^error: UNAVAILABLE: gone-1 \(127\.0\.0\.1:1\): /)
  })

  it('prints one object a node with -o json', async () => {
    const { stdout } = await terminal.run('version', '-o', 'json')
    expect(JSON.parse(stdout)).toEqual([
      expect.objectContaining({ node: 'cp-1', bootId: controlPlane.bootId }),
      expect.objectContaining({ node: 'worker-1', bootId: worker.bootId }),
    ])
  })

  it('says who the nodes take the caller for', async () => {
    const { stdout } = await terminal.run('whoami', '--context', 'reader', '--nodes', 'cp-1', '-o', 'json')
    expect(JSON.parse(stdout)).toEqual([
      expect.objectContaining({ commonName: 'rob', roles: ['stele:reader'] }),
    ])
  })

  it('prints a stream of several nodes with the name before each line', async () => {
    const { stdout } = await terminal.run('logs', 'core', '--tail', '1')
    expect(stdout.trim().split('\n').sort()).toEqual(['cp-1 | last line', 'worker-1 | last line'])
  })

  it('prints events one object a line', async () => {
    const { stdout } = await terminal.run('events', '--nodes', 'cp-1', '-o', 'json')
    expect(JSON.parse(stdout)).toMatchObject({ node: 'cp-1', sequence: 1, code: 'machine.state' })
  })
})

describe('several nodes', () => {
  it('takes every --nodes that is given', async () => {
    const { stdout } = await terminal.run(
      '-n',
      'worker-1',
      'version',
      '-n',
      'cp-1',
      '-n',
      'worker-1',
      '-o',
      'json',
    )
    expect((JSON.parse(stdout) as { node: string }[]).map(({ node }) => node)).toEqual(['worker-1', 'cp-1'])
  })

  it('prints the events of all of them in the order of time, with their details', async () => {
    controlPlane.eventAt = 2000
    worker.eventAt = 1000
    const { stdout } = await terminal.run('events')
    expect(stdout.trim().split('\n')).toEqual([
      '1970-01-01T00:00:01.000Z  worker-1  1  machine.state  running  from=booting',
      '1970-01-01T00:00:02.000Z  cp-1  1  machine.state  running  from=booting',
    ])
  })
})

describe('following', () => {
  it.each([
    ['events', ['events', '-f']],
    ['logs', ['logs', 'core', '-f', '--tail', '1']],
  ])('tells an outage once, and its end, for %s', async (_what, words) => {
    await using node = await StandIn.start('cp-7', authority, { role: 1 })
    const person = await authority.person('ada', ['stele:admin'])
    await terminal.addContext('outage', [node], { authority: authority.certificate, person })
    const child = terminal.start('--context', 'outage', ...words)
    const ran = collect(child)
    await Promise.race([once(child.stdout!, 'data'), ran])
    node.goAway()
    for await (const line of createInterface({ input: child.stderr! })) {
      if (line.includes('unreachable')) await node.comeBack()
      if (line.endsWith('back')) break
    }
    child.kill('SIGINT')
    const { exit, stderr } = await ran
    expect(stderr.split('\n')).toEqual([
      `warning: cp-7 (${node.endpoint}) unreachable, trying again`,
      `cp-7 (${node.endpoint}) back`,
      '',
    ])
    expect(exit).toBe(130)
  })
})

describe('watching', () => {
  it('prints a line a change, over a reboot, until it is interrupted', async () => {
    const child = terminal.start('status', '--watch', '--nodes', 'worker-1', '-o', 'json')
    const ran = collect(child)
    const boots: string[] = []
    for await (const line of createInterface({ input: child.stdout! })) {
      const row = JSON.parse(line) as { node: string; bootId?: string }
      if (row.bootId === undefined || boots.includes(row.bootId)) continue
      boots.push(row.bootId)
      if (boots.length === 2) break
      await terminal.run('reboot', '--nodes', 'worker-1', '--wait', 'false')
    }
    child.kill('SIGINT')
    expect((await ran).exit).toBe(130)
    expect(boots[1]).toBe(worker.bootId)
  })
})

describe('leaving', () => {
  it('ends with 130 and no word when a followed stream is interrupted', async () => {
    const child = terminal.start('logs', 'core', '--follow', '--tail', '1', '--nodes', 'cp-1')
    const ran = collect(child)
    await Promise.race([once(child.stdout!, 'data'), ran])
    child.kill('SIGINT')
    expect(await ran).toMatchObject({ exit: 130, stderr: '' })
  })

  it('ends with 0 and no word when the reader of its output leaves, as head does', async () => {
    const child = terminal.start('logs', 'core', '--nodes', 'cp-1')
    const ended = once(child, 'close')
    let stderr = ''
    child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    await Promise.race([once(child.stdout!, 'data'), ended])
    child.stdout?.destroy()
    expect(await ended).toEqual([0, null])
    expect(stderr).toBe('')
  })
})

describe('being interrupted', () => {
  it('says that the reboot had been accepted', async () => {
    await using node = await StandIn.start('cp-8', authority, { role: 1 })
    node.reboots = false
    const person = await authority.person('ada', ['stele:admin'])
    await terminal.addContext('stuck', [node], { authority: authority.certificate, person })
    const child = terminal.start('--context', 'stuck', 'reboot')
    const ran = collect(child)
    await node.called('version')
    child.kill('SIGINT')
    expect(await ran).toMatchObject({
      exit: 130,
      stderr:
        'error: INTERRUPTED: interrupted; the reboot had been accepted and goes on\nhint:  stelectl status -w\n',
    })
  })

  it('ends at once while it reads stdin', async () => {
    const child = terminal.start('validate', '-')
    const ran = collect(child)
    // More than a pipe holds: once it is taken, somebody reads.
    await new Promise((resolve) => child.stdin!.write(Buffer.alloc(1_000_000, 'x'), resolve))
    child.kill('SIGINT')
    expect(await ran).toMatchObject({ exit: 130, stderr: '' })
  })
})

describe('rebooting', () => {
  it('shows the refusal of a reader as the README does, on one node and on all', async () => {
    for (const words of [['reboot', '--nodes', 'worker-1'], ['reboot']]) {
      const { exit, stderr } = await terminal.run('--context', 'reader', ...words)
      expect(stderr).toBe(
        'error: PERMISSION_DENIED: role "stele:reader" may not call stele.agent.v1.SystemService/Reboot\n' +
          'hint:  use a context whose certificate carries role stele:operator or stele:admin\n',
      )
      expect(exit).toBe(4)
    }
  })

  it('reboots nobody when nodes are not named and nobody can be asked', async () => {
    const before = worker.bootId
    const { exit, stderr } = await terminal.run('--context', 'demo', 'reboot')
    expect(exit).toBe(2)
    expect(stderr).toContain('error: NODES_UNNAMED: this would reboot 2 nodes: cp-1, worker-1')
    expect(worker.bootId).toBe(before)
  })

  it('waits through the dropped connection for the new boot id', async () => {
    const before = worker.bootId
    const { exit, stdout } = await terminal.run('reboot', '--nodes', 'worker-1')
    expect(exit).toBe(0)
    expect(worker.bootId).not.toBe(before)
    const [old, fresh] = [before, worker.bootId].map((id) => id.slice(0, 8))
    expect(stdout).toMatch(new RegExp(`^worker-1 rebooted  boot ${old}… → ${fresh}…  in [\\d.]+ s\\n$`))
  })

  it('changes nothing in a dry run', async () => {
    const before = worker.bootId
    const { exit, stdout } = await terminal.run('reboot', '--nodes', 'worker-1', '--dry-run')
    expect({ exit, stdout }).toEqual({
      exit: 0,
      stdout: 'worker-1 would reboot:\n  stop gateway\n  stop core\n',
    })
    expect(worker.bootId).toBe(before)
  })
})

describe('changing', () => {
  it('tries a change again with the same key when the way broke', async () => {
    const { exit, stdout } = await terminal.run('service', 'restart', 'core', '--nodes', 'worker-1')
    expect(exit).toBe(0)
    expect(stdout).toMatch(/^worker-1 restarted core  pid 7 → 8  in [\d.]+ s\n$/)
    expect(worker.keys.at(-1)).toBe(worker.keys.at(-2))
  })

  it('applies a document and proves the revision; an old revision is a conflict', async () => {
    await writeFile(join(terminal.directory, 'n.yaml'), 'apiVersion: stele.dev/v1alpha1\nkind: NodeConfig\n')
    const applied = await terminal.run('apply', '-f', 'n.yaml', '--nodes', 'worker-1')
    expect(applied).toMatchObject({
      exit: 0,
      stdout: `no change\ntakes effect:\n  hostname: reboot\nwarning: n.yaml: old\nworker-1 has revision ${worker.revision}\n`,
    })
    const words = ['--context', 'demo', 'apply', '-f', 'n.yaml', '--nodes', 'worker-1', '--try', '60s']
    const trial = await terminal.run(...words)
    expect(trial.stdout).toContain('keep it with stelectl --context demo apply -f n.yaml --nodes worker-1\n')
    const late = await terminal.run(
      'apply',
      '-f',
      'n.yaml',
      '--nodes',
      'worker-1',
      '--expected-revision',
      '1',
    )
    expect(late.exit).toBe(7)
    expect(late.stderr).toBe('error: ABORTED: another revision is in force\nhint:  read it again\n')
  })

  it('asks no node to apply a document that is wrong here already (BR-024)', async () => {
    const text = 'apiVersion: stele.dev/v1alpha1\nkind: NodeConfig\nhostname: a\nhostname: b\n'
    await writeFile(join(terminal.directory, 'bad.yaml'), text)
    const before = worker.calls.length
    const { exit, stderr } = await terminal.run('apply', '-f', 'bad.yaml', '--nodes', 'worker-1')
    expect(exit).toBe(6)
    expect(stderr).toMatch(/^bad\.yaml:4:\d+: /)
    expect(worker.calls.length).toBe(before)
  })

  it('makes a join credential on the control plane alone and prints its password once', async () => {
    const { exit, stdout, stderr } = await terminal.run('token', 'create')
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
    expect(stdout.match(/the-password/g)).toHaveLength(1)
    expect(worker.calls).not.toContain('createJoinCredential')
  })
})
