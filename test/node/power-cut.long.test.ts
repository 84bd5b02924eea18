/**
 * Power cuts at random moments: from power-on to ready, and up to ten seconds after it, on a disk that was never configured and on one that was.
 * `STELE_CUTS` says how many (4), `STELE_CUT_SEED` repeats a run: the seed and every moment are printed.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ClientTls } from '#rpc'
import type { Machine } from '../../agent/cli/machine/machine.ts'
import { GATEWAY, makeCluster, nodeKey, ready } from './cluster.ts'
import { startMachine } from './machine.ts'
import { BOOT_MS } from './under-test.ts'

const CUTS = Number(process.env['STELE_CUTS'] ?? 4)
const SEED = Number(process.env['STELE_CUT_SEED'] ?? Date.now() % 2 ** 31)
const AFTER_READY_MS = 10_000
/** From power-on to ready until a boot was measured. */
const FIRST_ESTIMATE_MS = 40_000
const MOMENTS = 10_000
/** Rounds that a disk lives for: the first one begins without a configuration. */
const ROUNDS_OF_A_DISK = 2

const name = 'cp-1'
let folder: string
let userData: string
let tls: ClientTls
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'node-'))
  const cluster = await makeCluster(['10.0.2.15:50001'])
  userData = cluster.userDataOf(name)
  tls = await cluster.tlsFor(name)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Two moments of a round, from 0 to 1 of the time that each may be in. */
const rounds = fc.sample(fc.tuple(moment(), moment()), { numRuns: Math.ceil(CUTS / 2), seed: SEED })

/** Even over the whole time: by itself fast-check prefers the ends, and doubles near zero. */
function moment() {
  return fc.noBias(fc.integer({ min: 0, max: MOMENTS }).map((index) => index / MOMENTS))
}

function start(disk: string): Promise<Machine> {
  const needs = { boot: 'firmware', name: disk, folder: join(folder, disk), ports: [GATEWAY] } as const
  return startMachine({ ...needs, userData })
}

/** Lets the machine run for a while and cuts its power. */
async function cutAfter(machine: Machine, ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms))
  await machine.powerCut()
}

describe(`power cuts (seed ${SEED})`, () => {
  let readyMs = FIRST_ESTIMATE_MS
  let digest: string | undefined
  const keys = new Map<string, string>()

  it.each(rounds.map(([early, late], index) => ({ index, early, late })))(
    'comes back as the same node: round $index, at $early of its boot and $late of the ten seconds after it',
    { timeout: 3 * BOOT_MS },
    async ({ index, early, late }) => {
      const disk = `disk-${Math.floor(index / ROUNDS_OF_A_DISK)}`
      const [first, second] = [early * readyMs, late * AFTER_READY_MS]
      await cutAfter(await start(disk), first)

      await using machine = await start(disk)
      const began = performance.now()
      const status = await ready(machine, tls)
      readyMs = performance.now() - began
      const key = await nodeKey(machine, tls)
      process.stdout.write(
        `power-cut: ${disk} cut at ${seconds(first)}, ready again after ${seconds(readyMs)}, cut ${seconds(second)} later\n`,
      )
      expect(status).toMatchObject({ node: name, configRevision: 1n })
      expect(status.findings.map(({ code }) => code)).not.toContain('state_damaged')
      expect(status.configDigest).toBe(digest ?? status.configDigest)
      expect(key).toBe(keys.get(disk) ?? key)
      digest = status.configDigest
      keys.set(disk, key)
      await cutAfter(machine, second)
    },
  )

  it('gives each disk an identity of its own', () => {
    expect(new Set(keys.values()).size).toBe(keys.size)
  })

  it('comes back after the last cut, too', { timeout: BOOT_MS }, async () => {
    const disk = `disk-${Math.floor((rounds.length - 1) / ROUNDS_OF_A_DISK)}`
    await using machine = await start(disk)
    expect(await ready(machine, tls)).toMatchObject({ configDigest: digest })
    expect(await nodeKey(machine, tls)).toBe(keys.get(disk))
  })
})

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
