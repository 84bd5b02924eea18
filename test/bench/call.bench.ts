import { X509Certificate } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { agentServices } from '#api'
import { connect, type Client } from '#rpc'
import { freePort } from '../../agent/cli/cluster/port.ts'
import type { ClientPair, RaisedCluster, RaisedNode } from '../../agent/cli/cluster/raise.ts'
import { MEMORY_FLAGS, residentMegabytes, startDaemon, stopDaemon } from './daemon.ts'
import { load, type Load, type Report } from './measure.ts'

/** Limits protect a node from its callers; here they would be what is measured. */
const WIDE_LIMITS = [
  'rate',
  'burst',
  'unary-per-identity',
  'streams-per-identity',
  'total-calls',
  'connections-per-identity',
  'total-connections',
]
const IN_FLIGHT = 32
const STREAM_BYTES = 64 * 1024 * 1024

type Bench = {
  readonly report: Report
  readonly seconds: number
  readonly cluster: RaisedCluster
  readonly node: RaisedNode
  readonly bundles: string
}

/** Calls, handshakes, streams and memory of one control plane, through a gateway of its own with wide limits. */
export async function benchCalls(bench: Bench): Promise<void> {
  const { report, cluster, node } = bench
  const pair = await cluster.issue('bench', ['stele:admin'])
  const port = await freePort(node.place.address, 0)
  const { child, readyMs } = await startDaemon(join(bench.bundles, 'gateway.cjs'), gatewayFlags(node, port))
  try {
    report.add('start', `gateway process to ready (${MEMORY_FLAGS.length} memory flags)`, readyMs, 'ms')
    const pid = child.pid ?? 0
    report.add('memory', 'gateway idle', residentMegabytes(pid), 'MB')
    const through = cluster.connect({ ...node.place, gatewayPort: port }, pair)
    await benchUnary(bench, through, pair)
    through.close()
    await benchHandshakes(bench, port, pair)
    await benchStream(bench, port, pair)
    report.add('memory', 'gateway after load', residentMegabytes(pid), 'MB')
  } finally {
    await stopDaemon(child)
  }
}

function gatewayFlags(node: RaisedNode, port: number): string[] {
  const run = join(node.place.directory, 'run')
  return [
    ...['--listen', `${node.place.address}:${port}`, '--core', join(run, 'core/gateway.sock')],
    ...['--identity', join(run, 'gateway/identity.json')],
    ...WIDE_LIMITS.flatMap((name) => [`--${name}`, '1000000']),
  ]
}

async function benchUnary(
  bench: Bench,
  through: Client<typeof agentServices>,
  pair: ClientPair,
): Promise<void> {
  const { report, seconds, node } = bench
  const signal = new AbortController().signal
  using core = Object.assign(
    connect(agentServices, { endpoint: { socket: join(node.place.directory, 'run/core/gateway.sock') } }),
    {
      [Symbol.dispose]: () => core.close(),
    },
  )
  const metadata = {
    'stele-peer-certificate-bin': new X509Certificate(pair.certificate).raw,
    'stele-peer-address': '127.0.0.1',
  }
  const both = await load(() => through.system.version({}, { signal }), { seconds, inFlight: IN_FLIGHT })
  const alone = await load(() => core.system.version({}, { signal, metadata }), {
    seconds,
    inFlight: IN_FLIGHT,
  })
  const single = await load(() => through.system.version({}, { signal }), { seconds, inFlight: 1 })
  const singleAlone = await load(() => core.system.version({}, { signal, metadata }), {
    seconds,
    inFlight: 1,
  })
  addLoad(report, `${IN_FLIGHT} in flight, gateway and core`, both)
  addLoad(report, `${IN_FLIGHT} in flight, core alone`, alone)
  addLoad(report, 'one in flight, gateway and core', single)
  addLoad(report, 'one in flight, core alone', singleAlone)
  report.add(
    'ratio',
    'calls through the gateway against core alone',
    both.perSecond / alone.perSecond,
    'times',
  )
  report.add(
    'ratio',
    'p50 through the gateway against core alone, one in flight',
    single.p50Ms / singleAlone.p50Ms,
    'times',
  )
}

function addLoad(report: Report, what: string, measured: Load): void {
  report.add('unary', `${what}: calls`, measured.perSecond, '/s')
  report.add('unary', `${what}: p50`, measured.p50Ms, 'ms')
  report.add('unary', `${what}: p99`, measured.p99Ms, 'ms')
}

/** Full TLS 1.3 handshakes with a client certificate; the gateway issues no tickets, so each is a fresh one. */
async function benchHandshakes(bench: Bench, port: number, pair: ClientPair): Promise<void> {
  const options = {
    host: bench.node.place.address,
    port,
    ca: bench.cluster.secrets.nodeCa.certificatePem,
    cert: pair.certificate,
    key: pair.privateKey,
    ALPNProtocols: ['h2'],
    checkServerIdentity: () => undefined,
  }
  const handshake = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connectTls(options, () => {
        socket.destroy()
        resolve()
      })
      socket.once('error', reject)
    })
  const { perSecond, p50Ms } = await load(handshake, { seconds: bench.seconds, inFlight: 8 })
  bench.report.add('handshake', 'mutual TLS 1.3, 8 at a time', perSecond, '/s')
  bench.report.add('handshake', 'mutual TLS 1.3, 8 at a time: p50', p50Ms, 'ms')
}

/** Reads one long log: what a support case does. */
async function benchStream(bench: Bench, port: number, pair: ClientPair): Promise<void> {
  const { report, cluster, node } = bench
  const line = `${'x'.repeat(199)}\n`.repeat(1024)
  const file = join(node.place.directory, 'log/trust.log')
  for (let written = 0; written < STREAM_BYTES; written += line.length) appendFileSync(file, line)
  await using client = cluster.connect({ ...node.place, gatewayPort: port }, pair)
  const started = performance.now()
  let bytes = 0
  const request = { service: 'trust', follow: false, tailLines: 0, previousBoot: false }
  for await (const { lines } of client.log.logs(request, { signal: new AbortController().signal }))
    bytes += lines.length
  const seconds = (performance.now() - started) / 1000
  report.add('stream', 'one log through gateway and core', bytes / 1e6 / seconds, 'MB/s')
}
