import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { raiseDemoCluster, type DemoCluster } from '../../support/demo-cluster.ts'
import { eventually } from '../../support/wait.ts'

const signal = () => AbortSignal.timeout(60_000)

/** Process id of a daemon of the node: the child of its init that runs the bundle of that name. */
function pidOf(init: number | undefined, name: string): number | undefined {
  if (init === undefined) return undefined
  const children = readFileSync(`/proc/${init}/task/${init}/children`, 'utf8')
    .trim()
    .split(' ')
    .filter(Boolean)
  const found = children.find((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`${name}.cjs`))
  return found === undefined ? undefined : Number(found)
}

describe('kill -9', () => {
  let demo: DemoCluster

  beforeAll(async () => {
    demo = await raiseDemoCluster()
  }, 120_000)

  afterAll(async () => demo[Symbol.asyncDispose]())

  it.each(['core', 'gateway'])(
    'of %s: it is started again, state is whole, and the next call works',
    { timeout: 120_000 },
    async (name) => {
      const { cluster, worker } = demo
      const pair = await cluster.issue('kill-test', ['stele:admin'])
      await using client = cluster.connect(worker.place, pair)
      const before = await client.config.get({}, { signal: signal() })
      const bootId = (await client.system.version({}, { signal: signal() })).bootId
      for (let round = 0; round < 3; round += 1) {
        const old = await eventually(() => pidOf(worker.machine.pid, name), { what: `${name} runs` })
        process.kill(old, 'SIGKILL')
        const answer = await client.system
          .version({}, { signal: signal(), deadlineMs: 20_000, waitForReady: true })
          .catch(async () =>
            // The call that was on the wire when its process died is lost, and says so; the next one waits.
            client.system.version({}, { signal: signal(), deadlineMs: 20_000, waitForReady: true }),
          )
        expect(answer.bootId).toBe(bootId)
        await eventually(() => (pidOf(worker.machine.pid, name) ?? old) !== old, {
          what: `${name} has a new process`,
        })
      }
      expect(await client.config.get({}, { signal: signal() })).toEqual(before)
      const status = await cluster.untilReady(worker.place, signal())
      expect(status.configRevision).toBe(1n)
      const { service } = await client.service.get({ name }, { signal: signal() })
      expect(service?.restarts).toBeGreaterThanOrEqual(3)
    },
  )

  it('of trust: a control plane goes on signing', { timeout: 60_000 }, async () => {
    const { cluster, controlPlane } = demo
    const old = await eventually(() => pidOf(controlPlane.machine.pid, 'trust'))
    process.kill(old, 'SIGKILL')
    await eventually(() => (pidOf(controlPlane.machine.pid, 'trust') ?? old) !== old, {
      what: 'trust has a new process',
    })
    expect((await cluster.untilReady(controlPlane.place, signal())).servicesRunning).toBe(3)
  })

  it(
    'of init: its daemons leave, the machine starts it again, and the node is the same one',
    { timeout: 120_000 },
    async () => {
      const { cluster, worker } = demo
      await using client = cluster.connect(worker.place, await cluster.issue('kill-test', ['stele:reader']))
      const certificate = (await client.system.getStatus({}, { signal: signal() })).status
        ?.certificateNotAfter
      const { bootId } = await client.system.version({}, { signal: signal() })
      const core = await eventually(() => pidOf(worker.machine.pid, 'core'))
      process.kill(worker.machine.pid ?? 0, 'SIGKILL')
      await eventually(() => !isAlive(core), { what: 'core leaves' })
      const status = await eventually(
        async () => {
          const answer = await client.system.getStatus({}, { signal: signal(), deadlineMs: 2_000 })
          return answer.status?.bootId !== bootId && answer.status?.state === 2 && answer.status
        },
        { deadlineMs: 60_000, what: 'a new boot' },
      )
      expect(status.certificateNotAfter).toEqual(certificate)
      expect(status.configRevision).toBe(1n)
    },
  )

  it('leaves a whole STATE: every JSON file on it can be read', () => {
    const state = join(demo.worker.place.directory, 'state')
    const files = readdirSync(state, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.json'),
    )
    expect(files).toContain('config/config.json')
    for (const file of files) {
      expect(() => JSON.parse(readFileSync(join(state, file), 'utf8')) as unknown, file).not.toThrow()
    }
  })
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
