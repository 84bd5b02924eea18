/**
 * `npm run bench [-- --seconds N] [--json FILE] [--image DIR | --no-image] [--no-calls]`: figures of this machine in this run. Only ratios may be
 * compared between machines. The part of the image boots it, and needs what `npm run image` needs.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Lifetime } from '#kit/lifetime'
import { raise, type RaisedCluster } from '../../agent/cli/cluster/raise.ts'
import { openImage } from '../../agent/cli/machine/image.ts'
import { findTools } from '../../agent/cli/machine/tool.ts'
import { benchCalls } from './call.bench.ts'
import { benchImage } from './image.bench.ts'
import { median, Report } from './measure.ts'
import { benchPki } from './pki.bench.ts'
import { residentMegabytes } from './daemon.ts'

const root = join(import.meta.dirname, '../..')
const bundles = join(root, '.build')
const START_RUNS = 5

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    json: { type: 'string' },
    image: { type: 'string', default: join(root, '.build/image') },
    'no-image': { type: 'boolean', default: false },
    'no-calls': { type: 'boolean', default: false },
  },
})
const seconds = Number(values.seconds)
if (!(seconds > 0)) throw new Error('--seconds takes a number above 0')
// Before anything long begins: a missing image is told at once.
const image = values['no-image'] ? undefined : openImage(values.image)

if (!values['no-calls'])
  execFileSync(process.execPath, [join(root, 'images/bundle.ts')], { stdio: 'inherit' })
const report = new Report((line) => process.stdout.write(`${line}\n`))
process.stdout.write(
  `${new Date().toISOString()}  Node ${process.version}  ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}\n`,
)
if (!values['no-calls']) {
  await benchPki(report, seconds)
  await benchCluster()
}
if (image !== undefined)
  await benchImage({ report, image, tools: findTools(join(root, '.cache/images/tools')) })
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report.rows, null, 2)}\n`)

async function benchCluster(): Promise<void> {
  await using lifetime = new Lifetime()
  const directory = mkdtempSync(join(tmpdir(), 'stele-bench-'))
  lifetime.onClose(() => rmSync(directory, { recursive: true, force: true }))
  const signal = new AbortController().signal
  const started = performance.now()
  const cluster = lifetime.use(
    await raise({
      manifests: join(root, 'bootstrap-provider/examples/cluster.yaml'),
      directory,
      bundles,
      onRestart: () => undefined,
      onPowerOff: () => undefined,
      signal,
    }),
  )
  for (const node of cluster.nodes) await cluster.untilReady(node.place, signal)
  report.add(
    'start',
    'control plane and worker, power-on to all services running',
    performance.now() - started,
    'ms',
  )
  const [node] = cluster.nodes
  if (node === undefined) throw new Error('the manifests describe no machine')
  const services = processesOf(cluster)
  for (const [name, pid] of services) report.add('memory', `${name} idle`, residentMegabytes(pid), 'MB')
  await benchCalls({ report, seconds, cluster, node, bundles })
  const core = services.get('core')
  if (core !== undefined) report.add('memory', 'core after load', residentMegabytes(core), 'MB')
  report.add('start', 'an empty Node process, for comparison', emptyNode(), 'ms')
}

/** Process ids of the first node's daemons, by name: the children of its init, found in /proc. */
function processesOf(cluster: RaisedCluster): Map<string, number> {
  const init = cluster.nodes[0]?.machine.pid ?? 0
  const children = readFileSync(`/proc/${init}/task/${init}/children`, 'utf8').trim().split(' ').map(Number)
  const named = children.map(
    (pid) =>
      [/(\w+)\.cjs/.exec(readFileSync(`/proc/${pid}/cmdline`, 'utf8'))?.[1] ?? 'unknown', pid] as const,
  )
  return new Map([['init', init], ...named])
}

function emptyNode(): number {
  const samples = Array.from({ length: START_RUNS }, () => {
    const started = performance.now()
    execFileSync(process.execPath, ['-e', '0'])
    return performance.now() - started
  })
  return median(samples)
}
