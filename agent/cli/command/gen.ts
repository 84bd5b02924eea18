/** `stelectl gen`: a cluster's secrets, and from them the first documents and contexts. */
import { join } from 'node:path'
import type { Command } from 'commander'
import { formatEndpoint, parseEndpoint, type Endpoint } from '#kit/endpoint'
import type { ClusterSecrets } from '#pki'
import { mergeContext, type Context } from '../context.ts'
import type { ExitCode } from '../failure.ts'
import { CliFault } from '../fault.ts'
import { writePrivate } from '../file.ts'
import { manifestsOf } from '../manifest.ts'
import { FORMATS } from '../output.ts'
import { DEFAULT_PORT } from '../port.ts'
import { renderText } from '../render.ts'
import { verb, type Host, type Run } from '../run.ts'
import { readSecrets, writeSecrets } from '../secrets.ts'
import { examples } from './help.ts'

type SecretsOptions = { readonly outputFile: string; readonly force?: boolean }
type ConfigOptions = {
  readonly secrets?: string
  readonly outputDir: string
  readonly kubernetesVersion: string
  readonly force?: boolean
}

export const DEFAULT_SECRETS_FILE = 'secrets.yaml'
const KUBERNETES_PORT = 6443
const KUBERNETES_VERSION = 'v1.34.1'

export function addGen(program: Command, host: Host): void {
  const gen = program.command('gen').description('make the secrets and the first documents of a cluster')
  const secrets = gen
    .command('secrets')
    .description('make the authorities, the join credential and the tokens of a new cluster')
    .option('-o, --output-file <file>', 'where to write them', DEFAULT_SECRETS_FILE)
    .option('--force', 'replace a file that exists')
    .action(verb<SecretsOptions>(host, genSecrets))
  examples(secrets, ['gen secrets', 'gen secrets -o demo-secrets.yaml'])
  const config = gen
    .command('config')
    .description('write controlplane.yaml, worker.yaml and the contexts admin and reader')
    .argument('<name>', 'name of the cluster')
    .argument('<endpoint>', 'where its Kubernetes API is reached: host or host:port')
    .option(
      '--secrets <file>',
      'secrets of the cluster (default: secrets.yaml in the folder, made if it is not there)',
    )
    .option('--output-dir <dir>', 'where to write the files', '.')
    .option('--kubernetes-version <version>', 'version of Kubernetes', KUBERNETES_VERSION)
    .option('--force', 'replace files that exist')
    .action(verb<ConfigOptions>(host, genConfig))
  examples(config, ['gen config demo 10.0.0.1', 'gen config demo api.example.org:6443 --output-dir demo'])
}

async function genSecrets(run: Run<SecretsOptions>): Promise<ExitCode> {
  const { createClusterSecrets } = await import('#pki')
  const path = run.options.outputFile
  if (FORMATS.some((format) => format === path)) {
    throw new CliFault('usage', `-o names the file of the secrets, and ${path} is a format`, {
      hint: `say --output ${path} for the format, or -o ./${path} for the file`,
    })
  }
  await writeSecrets(path, await createClusterSecrets({ now: run.clock.now() }), {
    force: run.options.force === true,
  })
  run.output.result({ file: path }, () => `secrets written to ${path}: keep this file safe`)
  return 0
}

async function genConfig(run: Run<ConfigOptions>): Promise<ExitCode> {
  const [cluster = '', endpointText = ''] = run.operands
  const endpoint = readEndpoint(endpointText)
  const directory = run.options.outputDir
  const secrets = await secretsFor(run)
  const manifests = await manifestsOf({ cluster, endpoint, kubernetesVersion: run.options.kubernetesVersion })
  const rendered = await renderText(manifests, 'the command line', secrets)
  const exclusive = run.options.force !== true
  const written: string[] = []
  for (const { role, userData } of rendered) {
    const path = join(directory, role === 'control-plane' ? 'controlplane.yaml' : 'worker.yaml')
    await writePrivate(path, userData, { exclusive })
    written.push(path)
  }
  const contextFile = join(directory, 'stelectl.yaml')
  await writeContexts(contextFile, { cluster, endpoint, secrets, now: run.clock.now() })
  written.push(contextFile)
  run.output.result({ files: written, contexts: [cluster, `${cluster}-reader`] }, () =>
    [
      ...written.map((path) => `wrote ${path}`),
      `contexts ${cluster} and ${cluster}-reader: add them with stelectl config merge ${contextFile}`,
    ].join('\n'),
  )
  return 0
}

async function secretsFor(run: Run<ConfigOptions>): Promise<ClusterSecrets> {
  if (run.options.secrets !== undefined) return readSecrets(run.options.secrets)
  const path = join(run.options.outputDir, DEFAULT_SECRETS_FILE)
  const { createClusterSecrets } = await import('#pki')
  try {
    const made = await createClusterSecrets({ now: run.clock.now() })
    await writeSecrets(path, made, { force: false })
    run.output.note(`note: made new secrets in ${path}: keep this file safe`)
    return made
  } catch (error) {
    if (error instanceof CliFault && error.code === 'file_exists') return readSecrets(path)
    throw error
  }
}

type ContextInput = {
  readonly cluster: string
  readonly endpoint: Endpoint
  readonly secrets: ClusterSecrets
  readonly now: Date
}

async function writeContexts(path: string, input: ContextInput): Promise<void> {
  const admin = await issueContext(input, 'admin', 'stele:admin')
  const reader = await issueContext(input, 'reader', 'stele:reader')
  await mergeContext(path, `${input.cluster}-reader`, reader)
  await mergeContext(path, input.cluster, admin, { makeCurrent: true })
}

async function issueContext(input: ContextInput, commonName: string, role: string): Promise<Context> {
  const { issueAdminCertificate, loadAuthority } = await import('#pki')
  const authority = loadAuthority(input.secrets.nodeCa)
  if (!authority.ok) throw authority.error
  const issued = await issueAdminCertificate({
    authority: authority.value,
    commonName,
    roles: [role],
    now: input.now,
  })
  const endpoint = formatEndpoint({ host: input.endpoint.host, port: DEFAULT_PORT })
  return {
    nodes: [{ name: `${input.cluster}-cp-1`, endpoint }],
    authorities: input.secrets.nodeCa.certificatePem,
    certificate: issued.certificatePem,
    privateKey: issued.privateKeyPem,
  }
}

function readEndpoint(text: string): Endpoint {
  const parsed = parseEndpoint(text, { defaultPort: KUBERNETES_PORT })
  if (!parsed.ok) throw parsed.error
  return parsed.value
}
