import { EventEmitter, once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Cache } from '../../../images/cache.ts'
import { STEP_NAMES, type Plan, type Step, type StepName } from '../../../images/plan.ts'
import { run, type Executor, type StepEvent } from '../../../images/run.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'images-'))
  new Cache(folder)[Symbol.dispose]()
})
afterEach(() => rmSync(folder, { recursive: true }))

const step = (name: StepName, after: readonly StepName[], key = name): Step => ({
  name,
  after,
  key: key.padEnd(16, '0'),
  parameters: {},
  files: {},
})
const chain: Plan = {
  profile: 'p',
  version: '1',
  outputs: ['raw'],
  steps: STEP_NAMES.map((name, index) => step(name, index === 0 ? [] : [STEP_NAMES[index - 1] as StepName])),
}

/** Runs a plan whose executors write their name; returns the steps that ran. */
async function build(
  plan: Plan,
  override: Partial<Record<StepName, Executor>> = {},
): Promise<readonly string[]> {
  const ran: string[] = []
  const write: Executor = async ({ step, out }) => {
    ran.push(step.name)
    writeFileSync(join(out, 'name'), step.name)
  }
  const executors = Object.fromEntries(STEP_NAMES.map((name) => [name, override[name] ?? write])) as Record<
    StepName,
    Executor
  >
  using cache = new Cache(folder)
  const nothing = async () => ''
  await run(plan, {
    executors,
    cache,
    environment: () => ({
      repository: '',
      signingKeys: undefined,
      scratch: '',
      host: nothing,
      tree: nothing,
      treeOf: () => nothing,
    }),
    report: (_event: StepEvent) => undefined,
    now: () => 0,
    signal: new AbortController().signal,
  })
  return ran
}

describe('a build', () => {
  it('runs each step once and nothing the second time', async () => {
    expect(await build(chain)).toEqual([...STEP_NAMES])
    expect(await build(chain)).toEqual([])
  })

  it.each(STEP_NAMES)('that fails in %s leaves no output of it, and goes on there', async (name) => {
    const fail: Executor = async ({ out }) => {
      writeFileSync(join(out, 'half'), '')
      throw new Error('power cut')
    }
    await expect(build(chain, { [name]: fail })).rejects.toThrow('power cut')
    expect(existsSync(join(folder, name)) ? readdirSync(join(folder, name)) : []).toEqual([])
    expect((await build(chain))[0]).toBe(name)
  })

  it('removes what a killed build left half made', async () => {
    mkdirSync(join(folder, 'root', 'abc.partial'), { recursive: true })
    writeFileSync(join(folder, 'lock'), '999999999')
    await build(chain)
    expect(readdirSync(join(folder, 'root')).filter((name) => name.includes('partial'))).toEqual([])
  })

  it('refuses to share its cache with a build that lives', async () => {
    writeFileSync(join(folder, 'lock'), String(process.ppid))
    await expect(build(chain)).rejects.toMatchObject({ code: 'busy' })
    expect(readFileSync(join(folder, 'lock'), 'utf8')).toBe(String(process.ppid))
  })

  it('lets a running step finish when another fails, and starts none after it', async () => {
    const plan: Plan = {
      ...chain,
      steps: [step('tools', []), step('packages', []), step('runtime', ['tools'])],
    }
    const gate = new EventEmitter()
    const slow: Executor = async ({ out }) => {
      await once(gate, 'open')
      writeFileSync(join(out, 'name'), '')
    }
    const fail: Executor = async () => {
      queueMicrotask(() => gate.emit('open'))
      throw new Error('no')
    }
    await expect(build(plan, { tools: slow, packages: fail })).rejects.toThrow('no')
    expect(await build(plan)).toEqual(['packages', 'runtime'])
  })

  it('refuses a step that reads what is not before it', async () => {
    const reads: Executor = async ({ input }) => void input('disk')
    await expect(build(chain, { root: reads })).rejects.toThrow('not before it')
  })

  it('keeps the output before the last, and no older one', async () => {
    for (const key of ['a', 'b', 'c', 'a'])
      await build({ ...chain, steps: [step('tools', [], key as StepName)] })
    const kept = readdirSync(join(folder, 'tools')).filter((name) => name !== '.use')
    expect(kept.map((name) => name[0])).toEqual(['a', 'c'])
  })
})
