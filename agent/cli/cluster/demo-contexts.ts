/** The contexts `demo` and `reader` of `npm start`: found without a word by the next command, and never in the way of a person's own. */
import { X509Certificate } from 'node:crypto'
import { connect } from 'node:net'
import { parseEndpoint } from '#kit/endpoint'
import { loadOrNone, mergeContext, removeContext, type Context } from '../context.ts'
import { gatewayEndpoint } from './local.ts'
import type { RaisedCluster } from './raise.ts'

const NAMES = ['demo', 'reader'] as const
/** Names in the certificates of both, by which a left-over is told from a context of a cluster that is turned off. */
const PEOPLE = ['demo-admin', 'demo-reader'] as const
const PROBE_MS = 500

/**
 * The file for the contexts: the person's own, unless it holds a `demo` or a `reader` that is somebody's. Left over from an earlier run, and so
 * replaced, is only one that was written here, whose nodes are all on this machine and silent.
 */
export async function chooseContextFile(personal: string, own: string): Promise<string> {
  const { contexts } = await loadOrNone(personal)
  for (const name of NAMES) {
    const context = contexts[name]
    if (context !== undefined && !(await isLeftOver(context))) return own
  }
  return personal
}

/** Writes both contexts and returns what takes them out again, each only while it is still the one that was written. */
export async function writeDemoContexts(file: string, cluster: RaisedCluster): Promise<() => Promise<void>> {
  const nodes = cluster.nodes.map(({ name, place }) => ({ name, endpoint: gatewayEndpoint(place) }))
  const base = { nodes, authorities: cluster.secrets.nodeCa.certificatePem }
  const written = {
    demo: { ...base, ...(await cluster.issue(PEOPLE[0], ['stele:admin'])) },
    reader: { ...base, ...(await cluster.issue(PEOPLE[1], ['stele:reader'])) },
  }
  for (const name of NAMES) await mergeContext(file, name, written[name])
  return async () => {
    const { contexts } = await loadOrNone(file)
    for (const name of NAMES) {
      if (contexts[name]?.certificate === written[name].certificate) await removeContext(file, name)
    }
  }
}

async function isLeftOver(context: Context): Promise<boolean> {
  if (!PEOPLE.some((name) => `CN=${name}` === subjectOf(context))) return false
  for (const { endpoint } of context.nodes) {
    const parsed = parseEndpoint(endpoint, { defaultPort: 50_000 })
    if (!parsed.ok || !parsed.value.host.startsWith('127.') || (await answers(parsed.value))) return false
  }
  return true
}

function subjectOf({ certificate }: Context): string | undefined {
  try {
    return new X509Certificate(certificate).subject.split('\n').find((part) => part.startsWith('CN='))
  } catch {
    // It is no certificate, so it is none that was written here.
    return undefined
  }
}

function answers(endpoint: { readonly host: string; readonly port: number }): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ ...endpoint, timeout: PROBE_MS })
    const end = (isThere: boolean) => {
      socket.destroy()
      resolve(isThere)
    }
    socket.once('connect', () => end(true))
    socket.once('timeout', () => end(true))
    socket.once('error', () => end(false))
  })
}
