/** `stelectl gen`: a cluster's secrets, and from them the first documents and contexts. */
import { join } from 'node:path'
import type { Command } from 'commander'
import { formatEndpoint, parseEndpoint, type Endpoint } from '#kit/endpoint'
import type { ClusterSecrets } from '#pki'
import { mergeContext, type Context } from '../context.ts'
import type { ExitCode } from '../failure.ts'
import { CliFault } from '../fault.ts'
import { isThere, requireNew, writePrivate } from '../file.ts'
import { KUBERNETES_VERSION, manifestsOf } from '../manifest.ts'
import { FORMATS } from '../output.ts'
import { DEFAULT_PORT } from '../port.ts'
import { RefusedManifests, renderText, type RenderedMachine } from '../render.ts'
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
    .description('write controlplane.yaml, worker.yaml and the contexts NAME (admin) and NAME-reader')
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
  requireName(cluster)
  await requireVersion(run.options.kubernetesVersion)
  const { secrets, save } = await secretsFor(run)
  const manifests = await manifestsOf({ cluster, endpoint, kubernetesVersion: run.options.kubernetesVersion })
  const rendered = await renderAll(manifests, secrets)
  const exclusive = run.options.force !== true
  const documents = rendered.map(({ role, userData }) => ({
    path: join(directory, role === 'control-plane' ? 'controlplane.yaml' : 'worker.yaml'),
    userData,
  }))
  if (exclusive) await requireNew(documents.map(({ path }) => path))
  // Nothing is made before everything was checked.
  await save()
  for (const { path, userData } of documents) await writePrivate(path, userData, { exclusive })
  const written = documents.map(({ path }) => path)
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

/** The same rule as for names of objects in Kubernetes, short enough that `NAME-worker-1` is a name too, and that of a context. */
function requireName(cluster: string): void {
  if (/^[a-z0-9]([a-z0-9.-]{0,48}[a-z0-9])?$/.test(cluster)) return
  throw new CliFault('usage', `${JSON.stringify(cluster)} cannot be the name of a cluster`, {
    hint: 'a name is 1 to 50 of lower-case letters, digits, - and ., as in demo',
  })
}

async function requireVersion(text: string): Promise<void> {
  const { kubeadmApiVersion } = await import('#render')
  if (/^v\d/.test(text) && kubeadmApiVersion(text) !== undefined) return
  throw new CliFault(
    'usage',
    `--kubernetes-version ${JSON.stringify(text)} is no version that kubeadm can start`,
    {
      hint: `write it in full, from v1.22.0 on, as in ${KUBERNETES_VERSION}`,
    },
  )
}

/** The user data, or the distinct problems of the arguments: the places inside the manifests made of them tell a person nothing. */
async function renderAll(manifests: string, secrets: ClusterSecrets): Promise<readonly RenderedMachine[]> {
  try {
    return await renderText(manifests, 'the command line', secrets)
  } catch (error) {
    if (!(error instanceof RefusedManifests)) throw error
    const problems = [...new Set(error.findings.map(({ path, message }) => `${path}: ${message}`))]
    const hints = [...new Set(error.findings.flatMap((finding) => finding.hint ?? []))]
    throw new CliFault('usage', problems.join('\n'), {
      cause: error,
      ...(hints.length === 0 ? {} : { hint: hints.join('; ') }),
    })
  }
}

type Kept = { readonly secrets: ClusterSecrets; readonly save: () => Promise<void> }

/** Secrets that are there, or new ones and the way to keep them. */
async function secretsFor(run: Run<ConfigOptions>): Promise<Kept> {
  const path = run.options.secrets ?? join(run.options.outputDir, DEFAULT_SECRETS_FILE)
  if (run.options.secrets !== undefined || (await isThere(path))) {
    return { secrets: await readSecrets(path, run.signal), save: async () => undefined }
  }
  const { createClusterSecrets } = await import('#pki')
  const secrets = await createClusterSecrets({ now: run.clock.now() })
  const save = async (): Promise<void> => {
    await writeSecrets(path, secrets, { force: false })
    run.output.note(`note: made new secrets in ${path}: keep this file safe`)
  }
  return { secrets, save }
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
