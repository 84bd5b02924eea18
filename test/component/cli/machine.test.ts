/** Machines as processes of the host: found, waited for and ended. A process that has QEMU's name and words stands where QEMU would; nothing boots. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '#kit/clock'
import { clusterFolder, type ClusterFolder } from '../../../agent/cli/cluster/folder.ts'
import { placeOf } from '../../../agent/cli/cluster/observe.ts'
import { untilReady } from '../../../agent/cli/cluster/ready.ts'
import { stopNode } from '../../../agent/cli/cluster/stop.ts'
import {
  consoleFile,
  cutPower,
  findMachine,
  pidFile,
  type MachinePlace,
} from '../../../agent/cli/machine/detached.ts'
import { recordOf } from '../../unit/cli/cluster/record-of.ts'

const STUBBORN = 'process.on("SIGTERM", () => undefined);'
const RUNNING = 'stele: Stele 0.1.0  demo-cp-1  running\r\n'
const STUCK = 'stele: Stele 0.1.0  node-1  quarantine\r\nstele: stuck: user data is no YAML\r\n'
const [node] = recordOf().nodes
if (node === undefined) throw new Error('the record has no node')

let clusters = ''
let folder: ClusterFolder
let place: MachinePlace
let machines: ChildProcess[] = []
beforeEach(async () => {
  clusters = await mkdtemp(join(tmpdir(), 'stele-machines-'))
  folder = clusterFolder(clusters, 'demo')
  place = placeOf(folder, node)
  await mkdir(place.folder, { recursive: true })
})
afterEach(async () => {
  for (const machine of machines) machine.kill('SIGKILL')
  machines = []
  await rm(clusters, { recursive: true, force: true })
})

describe('a machine that is on', () => {
  it('is found by its pid file, and without one, and with one that names another process', async () => {
    const machine = await turnOn()
    for (const text of [String(machine.pid), undefined, String(process.pid)]) {
      await rm(pidFile(place), { force: true })
      if (text !== undefined) await writeFile(pidFile(place), `${text}\n`)
      expect(findMachine(place)).toEqual({ pid: machine.pid, acceleration: 'emulation' })
    }
    expect(findMachine({ ...place, name: 'demo-worker-1' })).toBeUndefined()
  })

  it('is ended by what lets it write out, when it heeds that', async () => {
    const machine = await turnOn('process.on("SIGTERM", () => process.exit(7));')
    expect(await cutPower(place, { ...waiting(), graceMs: 60_000 })).toBe(true)
    await gone(machine)
    expect(machine.exitCode).toBe(7)
  })

  it('is ended all the same when it does not', async () => {
    const machine = await turnOn(STUBBORN)
    expect(await cutPower(place, { ...waiting(), graceMs: 0 })).toBe(true)
    await gone(machine)
    expect(machine.signalCode).toBe('SIGKILL')
  })
})

describe('a machine that is off', () => {
  it('is not another process that got its number, which is left alone', async () => {
    const bystander = spawn(process.execPath, ['-e', 'setInterval(() => undefined, 1 << 30)'], {
      stdio: 'ignore',
    })
    machines.push(bystander)
    await once(bystander, 'spawn')
    await writeFile(pidFile(place), `${bystander.pid}\n`)
    expect(findMachine(place)).toBeUndefined()
    expect(await cutPower(place, { ...waiting(), graceMs: 0 })).toBe(false)
    expect([bystander.exitCode, bystander.signalCode]).toEqual([null, null])
  })

  it.each(['', '-1', '1e9', '99999999999', 'x'])('is off when its pid file says %j', async (text) => {
    await writeFile(pidFile(place), text)
    expect(findMachine(place)).toBeUndefined()
  })
})

describe('stopping a node', () => {
  it('is done when it was off', async () => {
    expect(await stopNode(node, stopping())).toMatchObject({ how: 'was-off' })
  })

  it('takes the power when the API does not answer', async () => {
    const machine = await turnOn()
    expect(await stopNode(node, stopping())).toMatchObject({ how: 'powered-off' })
    await gone(machine)
  })

  it('leaves the machine on when the person leaves', async () => {
    const machine = await turnOn()
    const signal = AbortSignal.abort(new Error('the person left'))
    await expect(stopNode(node, { ...stopping(), signal })).rejects.toThrow('the person left')
    expect(findMachine(place)?.pid).toBe(machine.pid)
  })
})

describe('waiting for a node', () => {
  it('ends with its answer, and tells each phase once', async () => {
    await turnOn()
    await writeFile(consoleFile(place), RUNNING)
    const phases: string[] = []
    let asked = 0
    const ask = async () => {
      if (++asked < 2) throw new Error('not yet')
      return 'ready'
    }
    const onPhase = (phase: string) => void phases.push(phase)
    expect(await untilReady({ ...readiness(), ask, onPhase })).toBe('ready')
    expect(phases).toEqual(['certificate', 'ready'])
  })

  it('ends when the machine is off, with its last words', async () => {
    await writeFile(consoleFile(place), '\x1b[31mKernel panic\x1b[0m - not syncing\r\n')
    const waited = untilReady(readiness())
    await expect(waited).rejects.toMatchObject({ code: 'machine_failed' })
    await expect(waited).rejects.toThrow(/it is off[^]*\n {2}Kernel panic - not syncing$/)
  })

  it('ends when the node says why it is stuck, without waiting for the deadline', async () => {
    await turnOn()
    await writeFile(consoleFile(place), STUCK)
    const waited = untilReady(readiness())
    await expect(waited).rejects.toMatchObject({ code: 'machine_stuck' })
    await expect(waited).rejects.toThrow('stuck: user data is no YAML')
  })

  it('ends at the deadline with what stood in the way', async () => {
    await turnOn()
    const waited = untilReady({ ...readiness(), deadlineMs: 1 })
    await expect(waited).rejects.toMatchObject({ code: 'wait_deadline' })
    await expect(waited).rejects.toThrow('it did not get ready')
  })

  it('reads the end of a console that has no end', async () => {
    await turnOn()
    await writeFile(consoleFile(place), STUCK + 'x'.repeat(2 * 1024 * 1024) + `\n${RUNNING}`)
    expect(await untilReady({ ...readiness(), ask: async () => 'ready' })).toBe('ready')
  })
})

async function turnOn(script = ''): Promise<ChildProcess> {
  const code = `${script} setInterval(() => undefined, 1 << 30); process.stdout.write("on")`
  const child = spawn(process.execPath, ['-e', code, '--', '-accel', 'tcg', '-pidfile', pidFile(place)], {
    argv0: 'qemu-system-x86_64',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  machines.push(child)
  await once(child.stdout, 'data')
  return child
}

async function gone(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

function waiting() {
  return { clock: systemClock, signal: AbortSignal.timeout(20_000) }
}

function stopping() {
  const open = () => {
    throw new Error('nobody answers')
  }
  return { ...waiting(), folder, open, deadlineMs: 5000 }
}

function readiness() {
  const ask = () => Promise.reject(new Error('not yet'))
  return { ...waiting(), place, ask, onPhase: () => undefined, deadlineMs: 20_000 }
}
