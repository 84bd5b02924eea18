/**
 * The whole path once, on this machine: manifests become user data, user data becomes a control plane and a worker, the worker gets its
 * certificate from the control plane, and two people with different roles ask for a reboot. Nothing in it is staged: the daemons are those of
 * the image, the commands are those of the terminal, and every claim is checked before it is printed.
 */
import { basename, join } from 'node:path'
import { systemClock } from '#kit/clock'
import { Lifetime } from '#kit/lifetime'
import { spkiFingerprintOfCertificate } from '#pki'
import { CliFault } from '../fault.ts'
import { writeDemoContexts } from './demo-contexts.ts'
import { gatewayEndpoint } from './local.ts'
import { raise, type RaisedCluster, type RaisedNode } from './raise.ts'
import { runStelectl, type CommandResult } from './stelectl.ts'

const PERMISSION_DENIED_EXIT = 4

export type Stage = {
  /** One line: who, what, and what proves it. */
  readonly say: (who: string, what: string, proof: string) => void
  /** A command and what it printed. */
  readonly show: (command: string, output: string) => void
}

export type StoryOptions = {
  readonly manifests: string
  readonly directory: string
  readonly bundles: string
  /** The file of contexts that the commands read; the contexts `demo` and `reader` are written to it. */
  readonly config: string
  readonly stage: Stage
  readonly signal: AbortSignal
}

/** Running nodes, and the contexts to reach them by; closing it stops the one and takes out the other. */
export type Story = AsyncDisposable & { readonly cluster: RaisedCluster }

/** Plays the story up to running nodes. Throws CliFault with the reason when a step does not end as it should. */
export async function raiseCluster(options: StoryOptions): Promise<Story> {
  const { stage, signal } = options
  await using rollback = new Lifetime()
  const cluster = rollback.use(
    await raise({
      ...options,
      onSecrets: ({ nodeCa }) =>
        stage.say('pki', 'authority created', short(spkiFingerprintOfCertificate(nodeCa.certificatePem))),
      onRendered: ({ name, role, userData }) =>
        stage.say(
          'render',
          `${basename(options.manifests)} → ${name}`,
          `${role}, ${kibibytes(userData)} of user data`,
        ),
      onRestart: (node, exit) => stage.say(node, 'init ended and is started again', exit),
      onPowerOff: (node) => stage.say(node, 'powered off', ''),
    }),
  )
  rollback.onClose(await writeDemoContexts(options.config, cluster))
  for (const node of cluster.nodes) {
    const status = await cluster.untilReady(node.place, signal)
    if (node.role === 'worker') {
      stage.say(
        node.name,
        'certificate signed by the control plane',
        `serving, ${hoursLeft(status.certificateNotAfter)}`,
      )
    }
    stage.say(node.name, 'ready', `${gatewayEndpoint(node.place)} (mutual TLS)`)
  }
  const kept = rollback.hand()
  return { cluster, [Symbol.asyncDispose]: async () => kept[Symbol.asyncDispose]() }
}

/** A reader is refused a reboot; an admin reboots the worker. Throws CliFault when either does not end as it should. */
export async function proveAuthorization(options: StoryOptions, nodes: readonly RaisedNode[]): Promise<void> {
  const { stage } = options
  const worker = nodes.at(-1)?.name
  if (worker === undefined) throw new CliFault('failed', 'the manifests describe no machine')
  const run: Run = (args) =>
    runStelectl(args, { program: stelectlOf(options), config: options.config, signal: options.signal })
  const table = await run(['--context', 'demo', 'status'])
  stage.show('stelectl --context demo status', table.stdout)
  const refused = await run(['--context', 'reader', 'reboot', '--nodes', worker])
  stage.show(`stelectl --context reader reboot --nodes ${worker}`, refused.stderr)
  if (refused.exitCode !== PERMISSION_DENIED_EXIT) {
    throw new CliFault('failed', 'the reader was not refused as a reader should be')
  }
  const before = await bootId(run, worker)
  const reboot = await run(['--context', 'demo', 'reboot', '--nodes', worker, '--yes'])
  stage.show(
    `stelectl --context demo reboot --nodes ${worker} --yes`,
    reboot.stdout === '' ? reboot.stderr : reboot.stdout,
  )
  const after = await bootId(run, worker)
  if (reboot.exitCode !== 0 || before === after) throw new CliFault('failed', 'the worker was not rebooted')
  stage.say(worker, 'boot id before the reboot', before)
  stage.say(worker, 'boot id after the reboot', after)
}

/** The bundle starts twice as fast as the sources, and is made of them at each `npm start`. */
export function stelectlOf(options: Pick<StoryOptions, 'bundles'>): string {
  return join(options.bundles, 'stelectl.mjs')
}

type Run = (args: readonly string[]) => Promise<CommandResult>

async function bootId(run: Run, node: string): Promise<string> {
  const answer = await run(['--context', 'demo', 'version', '--nodes', node, '-o', 'json'])
  const found = /"bootId": ?"([^"]+)"/.exec(answer.stdout)?.[1]
  if (found === undefined) throw new CliFault('failed', `${node} does not tell its boot id`)
  return found
}

function hoursLeft(notAfter: Date | undefined): string {
  if (notAfter === undefined) return 'no certificate'
  return `${Math.round((notAfter.getTime() - systemClock.now().getTime()) / 3_600_000)} h`
}

function kibibytes(text: string): string {
  return `${(Buffer.byteLength(text) / 1024).toFixed(1)} KiB`
}

function short(fingerprint: string): string {
  return `${fingerprint.slice(0, 23)}…`
}
