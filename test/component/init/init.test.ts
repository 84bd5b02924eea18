import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { callInit, nodeDirectory, type InitRequest, type InitService } from '../../../agent/init/index.ts'

/** A daemon that is ready at once, ends on SIGTERM and with its supervisor, and leaves a line. */
const DAEMON = `process.send({kind:'ready'}); console.log('line of '+process.argv[1]);
process.on('SIGTERM',()=>process.exit(0)); process.on('disconnect',()=>process.exit(0)); setInterval(()=>{},1000)`
/** A daemon that is ready and does not heed SIGTERM. */
const STUBBORN = `process.send({kind:'ready'}); process.on('SIGTERM',()=>{}); process.on('disconnect',()=>process.exit(0)); setInterval(()=>{},1000)`

let directory: string
let init: ChildProcess | undefined

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'stele-init-'))
})
afterEach(async () => {
  await end('SIGKILL')
  rmSync(directory, { recursive: true, force: true })
})

async function start(programs: Partial<Record<'core' | 'gateway' | 'trust', string>> = {}): Promise<void> {
  const program = (name: 'core' | 'gateway' | 'trust') => ['node', '-e', programs[name] ?? DAEMON, name, '--']
  const node = {
    version: 1,
    name: 'cp-1',
    addresses: ['127.0.0.1'],
    gatewayPort: 50000,
    trustPort: 50001,
    userData: [],
    programs: { core: program('core'), gateway: program('gateway'), trust: program('trust') },
  }
  const file = join(directory, 'node.json')
  writeFileSync(file, JSON.stringify(node))
  init = fork(join(import.meta.dirname, '../../../agent/init/main.ts'), ['--node', file], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  await once(init, 'message')
}

async function end(signal: NodeJS.Signals): Promise<number | null> {
  const process = init
  init = undefined
  if (process === undefined || process.exitCode !== null || process.signalCode !== null)
    return process?.exitCode ?? null
  const over = once(process, 'exit')
  process.kill(signal)
  await over
  return process.exitCode
}

const ask = (request: InitRequest) =>
  callInit(nodeDirectory(directory).initSocket, request, { signal: AbortSignal.timeout(5_000) })
const list = async () => (await ask({ command: 'list' })).services ?? []
const boot = async () => (await ask({ command: 'status' })).boot?.bootId ?? ''

/** Asks again until the services are as wanted; the test's own deadline ends it. */
async function until(
  wanted: (services: Readonly<Record<string, InitService>>) => boolean,
): Promise<Readonly<Record<string, InitService>>> {
  for (;;) {
    const services = Object.fromEntries(
      (await list().catch(() => [])).map((service) => [service.name, service]),
    )
    if (wanted(services)) return services
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

const up = (services: Readonly<Record<string, InitService>>) =>
  services['core']?.state === 'running' && services['gateway']?.state === 'running'
const isAlive = (pid: number) =>
  existsSync(`/proc/${pid}/stat`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))

describe('init', () => {
  it('starts core and gateway, starts trust when asked, and restarts what is killed', async () => {
    await start()
    const first = await until(up)
    expect(first['trust']?.state).toBe('stopped')
    await ask({ command: 'start', name: 'trust' })
    await until((services) => services['trust']?.state === 'running')
    process.kill(first['core']?.pid ?? 0, 'SIGKILL')
    const again = await until((services) => services['core']?.restarts === 1 && up(services))
    expect(again['core']?.lastExit).toBe('signal SIGKILL')
    expect(again['core']?.pid).not.toBe(first['core']?.pid)
    expect(again['gateway']?.pid).toBe(first['gateway']?.pid)
  })

  it('reboots into a new boot id, keeps the lines of the boot before, and stops trust until it is asked for', async () => {
    await start()
    const before = await boot()
    const old = await until(up)
    await ask({ command: 'start', name: 'trust' })
    await ask({ command: 'reboot', forced: false })
    const services = await until((now) => up(now) && now['core']?.pid !== old['core']?.pid)
    expect(await boot()).not.toBe(before)
    expect(services['trust']?.state).toBe('stopped')
    expect(readFileSync(join(directory, 'log/core.previous.log'), 'utf8')).toBe('line of core\n')
    expect(readFileSync(join(directory, 'log/kernel.previous.log'), 'utf8')).toContain(before)
  })

  it('ends a daemon that does not heed SIGTERM, at once when forced', async () => {
    await start({ gateway: STUBBORN })
    const old = await until(up)
    await ask({ command: 'reboot', forced: true })
    const services = await until((now) => up(now) && now['gateway']?.pid !== old['gateway']?.pid)
    expect(services['gateway']?.lastExit).toBe('')
  })

  it('shuts down: everything stops and init exits with 0', async () => {
    await start()
    const services = await until(up)
    const over = once(init as ChildProcess, 'exit')
    await ask({ command: 'shutdown', forced: false })
    expect((await over)[0]).toBe(0)
    expect(isAlive(services['core']?.pid ?? 0)).toBe(false)
  })

  it('leaves no daemon behind when it is killed, and the next one starts clean', async () => {
    await start()
    const services = await until(up)
    const before = await boot()
    await end('SIGKILL')
    const pids = [services['core']?.pid ?? 0, services['gateway']?.pid ?? 0]
    while (pids.some(isAlive)) await new Promise((resolve) => setTimeout(resolve, 20))
    await start()
    await until(up)
    expect(await boot()).not.toBe(before)
  })

  it('is the only one on its directory: a second one is refused and takes nothing away', async () => {
    await start()
    const first = await boot()
    const second = fork(
      join(import.meta.dirname, '../../../agent/init/main.ts'),
      ['--node', join(directory, 'node.json')],
      { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] },
    )
    const [code] = (await once(second, 'exit')) as [number | null]
    expect(code).toBe(2)
    expect(await boot()).toBe(first)
    expect((await list()).filter((service) => service.name === 'core')).toHaveLength(1)
  })

  it('answers nonsense with a refusal and goes on', async () => {
    await start()
    await expect(ask({ command: 'start', name: 'shell' as 'core' })).rejects.toMatchObject({
      code: 'init_refused',
    })
    await until(up)
  })
})
