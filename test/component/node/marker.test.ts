import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decodeUserData, parseNodeConfiguration } from '#config'
import { LocalMachine } from '../../../agent/cli/cluster/machine.ts'
import { placeNodes } from '../../../agent/cli/cluster/local.ts'
import { runStelectl } from '../../../agent/cli/cluster/stelectl.ts'
import { brokenDocuments, brokenUserData, MARKER, type Broken } from '../../support/broken-documents.ts'
import { ownSubnet, raiseDemoCluster, repository, type DemoCluster } from '../../support/demo-cluster.ts'
import { eventually } from '../../support/wait.ts'

const signal = () => AbortSignal.timeout(60_000)

/** Every byte that a node wrote outside the seeds that the test itself wrote, and outside STATE's copy of the configuration. */
function writtenBy(directory: string): string {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true, encoding: 'utf8' })
  const files = entries.filter((entry) => entry.isFile() && !entry.parentPath.includes('/seed'))
  return files.map((file) => readFileSync(join(file.parentPath, file.name), 'latin1')).join('\n')
}

const SOURCES = 60

/** Some fields take any text; a document is of use here only when a node refuses it. */
function isRefused({ text }: Broken): boolean {
  const decoded = decodeUserData(Buffer.from(text))
  return !decoded.ok || !parseNodeConfiguration(decoded.value.text, { file: 'user-data' }).ok
}

describe('a secret in a broken document', () => {
  let demo: DemoCluster

  beforeAll(async () => {
    demo = await raiseDemoCluster()
  }, 120_000)

  afterAll(async () => demo[Symbol.asyncDispose]())

  it(
    'is in no answer, log, event, audit record or status, whatever field it stands in',
    { timeout: 120_000 },
    async () => {
      const { cluster, worker } = demo
      await using client = cluster.connect(worker.place, await cluster.issue('marker-test', ['stele:admin']))
      const answers: unknown[] = []
      let refused = 0
      for (const { text: document } of brokenDocuments()) {
        const validated = await client.config.validate({ document }, { signal: signal() })
        answers.push(validated)
        if (!validated.findings.some((finding) => finding.severity === 1)) continue
        const apply = client.config.apply(
          { document, expectedRevision: 1n, idempotencyKey: `marker-${refused}-0000` },
          { signal: signal() },
        )
        answers.push(
          await apply.then(
            () => 'accepted',
            (error: unknown) => [String(error), (error as { hint?: string }).hint, error],
          ),
        )
        expect(answers.at(-1)).not.toBe('accepted')
        refused += 1
      }
      expect(refused).toBeGreaterThan(100)
      answers.push(await client.system.getStatus({}, { signal: signal() }))
      for await (const event of client.event.watch({}, { signal: signal() })) answers.push(event)
      for await (const { lines } of client.log.logs({ service: 'audit' }, { signal: signal() }))
        answers.push(lines.toString('latin1'))
      const printed = JSON.stringify(answers, (_key, value: unknown) =>
        typeof value === 'bigint' ? String(value) : value,
      )
      expect(printed).not.toContain(MARKER)
      expect(writtenBy(worker.place.directory)).not.toContain(MARKER)
    },
  )

  it('is not printed by stelectl', { timeout: 120_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'stele-marker-'))
    try {
      for (const where of ['trust.password is text', 'trust.caKey is text', 'an open quote', 'a key twice']) {
        const document = brokenDocuments().find((broken) => broken.where === where)
        if (document === undefined) throw new Error(`there is no document where ${where}`)
        const file = join(folder, 'node.yaml')
        writeFileSync(file, document.text)
        for (const args of [
          ['validate', file],
          ['apply', '-f', file, '--nodes', 'worker-1', '--yes'],
          ['validate', file, '-o', 'json'],
        ]) {
          const { stdout, stderr, exitCode } = await runStelectl(args, {
            program: join(repository, '.build/stelectl.mjs'),
            config: demo.contexts,
            signal: signal(),
          })
          expect(exitCode, `${where}: ${args.join(' ')}`).toBe(6)
          expect(stdout + stderr).not.toContain(MARKER)
        }
      }
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it(
    'is in nothing that a node writes or says when its user data is broken',
    { timeout: 120_000 },
    async () => {
      const directory = mkdtempSync(join(tmpdir(), 'stele-marker-'))
      const [place] = await placeNodes(['cp-1', 'worker-1', 'cp-broken'], directory, ownSubnet()).then(
        (places) => places.slice(2),
      )
      if (place === undefined) throw new Error('no place')
      for (const folder of ['seed', 'log', 'run', 'state'])
        mkdirSync(join(place.directory, folder), { recursive: true })
      const sources = brokenUserData()
        .filter(isRefused)
        .slice(0, SOURCES)
        .map(({ text }, index) => {
          const path = join(place.directory, 'seed', `broken-${index}`)
          writeFileSync(path, text)
          return path
        })
      const good = join(place.directory, 'seed', 'good')
      writeFileSync(good, demo.controlPlane.userData)
      const bundle = (name: string) => [process.execPath, join(repository, '.build', `${name}.cjs`)]
      const node = {
        version: 1,
        name: 'cp-1',
        addresses: [place.address],
        gatewayPort: place.gatewayPort,
        trustPort: place.trustPort,
        userData: [...sources, good],
        programs: { core: bundle('core'), gateway: bundle('gateway'), trust: bundle('trust') },
      }
      writeFileSync(join(place.directory, 'node.json'), JSON.stringify(node))
      await using machine = new LocalMachine({
        directory: place.directory,
        init: bundle('init'),
        onRestart: () => undefined,
        onPowerOff: () => undefined,
      })
      machine.start()
      await using client = demo.cluster.connect(
        place,
        await demo.cluster.issue('marker-test', ['stele:admin']),
      )
      const answer = await eventually(
        () => client.system.getBootSource({}, { signal: signal(), deadlineMs: 2_000 }),
        { deadlineMs: 60_000 },
      )
      expect(answer.sources).toHaveLength(SOURCES + 1)
      expect(answer.sources.at(-1)?.verdict).toBe('used')
      expect(new Set(answer.sources.slice(0, SOURCES).map((source) => source.verdict))).toEqual(
        new Set(['invalid']),
      )
      const printed = JSON.stringify(answer, (_key, value: unknown) =>
        typeof value === 'bigint' ? String(value) : value,
      )
      expect(printed).not.toContain(MARKER)
      expect(writtenBy(place.directory)).not.toContain(MARKER)
      rmSync(directory, { recursive: true, force: true })
    },
  )
})
