/** `stelectl token`, `stelectl node` and `stelectl cert`: who may join, who did, and whom nodes no longer accept. */
import type { Command } from 'commander'
import type { JoinCredential, NodeRole } from '#api'
import { durationBetween, formatDistance } from '../duration.ts'
import { answers, fanOut, report } from '../fan-out.ts'
import type { ExitCode } from '../failure.ts'
import { CliFault } from '../fault.ts'
import { readCall, withNodes, type Node, type Selection } from '../nodes.ts'
import { verb, wholeNumber, type Host, type Run } from '../run.ts'
import { fields, table } from '../text.ts'
import { examples } from './help.ts'
import { statusOf } from './status.ts'

const CONTROL_PLANE: NodeRole.CONTROL_PLANE = 1

type CreateOptions = { readonly ttl?: number; readonly maxUses?: number; readonly description?: string }

export function addCredential(program: Command, host: Host): void {
  addToken(program.command('token').description('join credentials: who may become a node'), host)
  addNode(program.command('node').description('nodes that joined through a control plane'), host)
  const deny = program
    .command('cert')
    .description('client certificates')
    .command('deny')
    .description('make nodes refuse a certificate until it expires; on every node of the context')
    .argument('<serial>', 'serial number in hexadecimal, as stelectl whoami shows it')
    .option('--reason <text>', 'why, for the record')
    .action(verb<{ readonly reason?: string }>(host, denyCertificate))
  examples(deny, ['cert deny 4f2a90c1 --reason "laptop lost"'])
}

function addToken(token: Command, host: Host): void {
  const create = token
    .command('create')
    .description('mint a username and a password; the password is printed this once')
    .option('--ttl <duration>', 'how long it lives, 1m to 365d (default: 24h)', durationBetween('1m', '365d'))
    .option(
      '--max-uses <n>',
      'how many nodes may join with it (default: any number)',
      wholeNumber(1, 100_000, 'leave it out for any number of nodes'),
    )
    .option('--description <text>', 'a note')
    .action(verb<CreateOptions>(host, createToken))
  examples(create, ['token create --ttl 1h --max-uses 3', 'token create --description "rack 4" -o json'])
  const list = token
    .command('list')
    .description('list join credentials, without passwords')
    .action(verb(host, listTokens))
  examples(list, ['token list'])
  const revoke = token
    .command('revoke')
    .description('end a join credential at once; nodes that joined with it stay')
    .argument('<username>', 'the public identifier')
    .action(verb(host, revokeToken))
  examples(revoke, ['token revoke abc123'])
}

function addNode(node: Command, host: Host): void {
  const list = node.command('list').description('list the nodes that joined').action(verb(host, listNodes))
  examples(list, ['node list'])
  const forget = node
    .command('forget')
    .description("free a node's name and addresses for a new machine")
    .argument('<node>', 'name of the node')
    .option('--dry-run', 'say what would be freed and change nothing')
    .action(verb<{ readonly dryRun?: boolean }>(host, forgetNode))
  examples(forget, ['node forget worker-1 --dry-run', 'node forget worker-1'])
}

/** The nodes that keep join credentials: those that were named, else the context's control planes. */
async function controlPlanes(run: Run<unknown>, selection: Selection): Promise<readonly Node[]> {
  if (selection.isDeliberate) return selection.nodes
  const roles = answers(await fanOut(selection.nodes, (node) => statusOf(run, node)))
  const names = roles.filter(({ value }) => value.role === CONTROL_PLANE).map(({ node }) => node)
  const found = selection.nodes.filter((node) => names.includes(node.name))
  if (found.length > 0) return found
  throw new CliFault('no_control_plane', 'no control plane of the context answered', {
    hint: 'name one with --nodes; stelectl status shows why they do not answer',
  })
}

/** A change to one control plane alone: each keeps its own credentials. */
async function oneControlPlane(run: Run<unknown>, selection: Selection): Promise<readonly Node[]> {
  const found = await controlPlanes(run, selection)
  if (found.length === 1) return found
  throw new CliFault('nodes_unnamed', 'the context has several control planes, and each keeps its own', {
    hint: `name one with --nodes: ${found.map((node) => node.name).join(', ')}`,
  })
}

async function createToken(run: Run<CreateOptions>): Promise<ExitCode> {
  const { ttl, maxUses, description } = run.options
  return withNodes(run, async (selection) => {
    const nodes = await oneControlPlane(run, selection)
    // Never tried again: a password that was made and lost on the way must not be made twice.
    const outcomes = await fanOut(nodes, (node) =>
      node.client.credential.createJoinCredential(
        {
          lifetime: ttl === undefined ? undefined : { seconds: BigInt(Math.floor(ttl / 1000)), nanos: 0 },
          maxUses: maxUses ?? 0,
          description: description ?? '',
          idempotencyKey: crypto.randomUUID(),
        },
        { signal: run.signal },
      ),
    )
    return report(run.output, outcomes, {
      data: (value) => ({ ...value.credential, password: value.password }),
      text: (answered) =>
        answered
          .map(({ value }) =>
            fields([
              ['username', value.credential?.username ?? ''],
              ['password', value.password],
              ['expires', distance(value.credential?.expiresAt, run)],
              ['uses', usesOf(value.credential)],
            ]),
          )
          .join('\n'),
    })
  })
}

async function listTokens(run: Run): Promise<ExitCode> {
  return withNodes(run, async (selection) => {
    const nodes = await controlPlanes(run, selection)
    const outcomes = await fanOut(nodes, (node) =>
      readCall(run, (call) => node.client.credential.listJoinCredentials({}, call)),
    )
    return report(run.output, outcomes, {
      data: (value) => value,
      text: (answered) =>
        table(
          ['NODE', 'USERNAME', 'STATE', 'EXPIRES', 'USES', 'DESCRIPTION'],
          answered.flatMap(({ node, value }) =>
            value.credentials.map((one) => [
              node,
              one.username,
              one.state,
              distance(one.expiresAt, run),
              usesOf(one),
              one.description,
            ]),
          ),
        ),
    })
  })
}

async function revokeToken(run: Run): Promise<ExitCode> {
  const username = run.operands[0] ?? ''
  return withNodes(run, async (selection) => {
    const nodes = await oneControlPlane(run, selection)
    const outcomes = await fanOut(nodes, (node) =>
      readCall(run, (call) => node.client.credential.revokeJoinCredential({ username }, call)),
    )
    return report(run.output, outcomes, {
      data: (value) => value,
      text: (answered) => answered.map(({ node }) => `${node} revoked ${username}`).join('\n'),
    })
  })
}

async function listNodes(run: Run): Promise<ExitCode> {
  return withNodes(run, async (selection) => {
    const nodes = await controlPlanes(run, selection)
    const outcomes = await fanOut(nodes, (node) =>
      readCall(run, (call) => node.client.credential.listEnrolments({}, call)),
    )
    return report(run.output, outcomes, {
      data: (value) => value,
      text: (answered) =>
        table(
          ['NODE', 'JOINED THROUGH', 'ADDRESSES', 'CREDENTIAL', 'CERTIFICATE ENDS', 'SERIAL'],
          answered.flatMap(({ node, value }) =>
            value.enrolments.map((one) => [
              one.node,
              node,
              one.addresses.join(' '),
              one.username,
              distance(one.notAfter, run),
              one.serial,
            ]),
          ),
        ),
    })
  })
}

async function forgetNode(run: Run<{ readonly dryRun?: boolean }>): Promise<ExitCode> {
  const name = run.operands[0] ?? ''
  const dryRun = run.options.dryRun === true
  return withNodes(run, async (selection) => {
    const nodes = await oneControlPlane(run, selection)
    const outcomes = await fanOut(nodes, (node) =>
      node.client.credential.forgetEnrolment({ node: name, dryRun }, { signal: run.signal }),
    )
    return report(run.output, outcomes, {
      data: (value) => ({ dryRun, ...value }),
      text: (answered) =>
        answered.map(({ node }) => `${node} ${dryRun ? 'would forget' : 'forgot'} ${name}`).join('\n'),
    })
  })
}

async function denyCertificate(run: Run<{ readonly reason?: string }>): Promise<ExitCode> {
  const serial = (run.operands[0] ?? '').toLowerCase().replaceAll(':', '')
  if (!/^[0-9a-f]{1,40}$/.test(serial))
    throw new CliFault('usage', 'a serial number is 1 to 40 hexadecimal digits', {
      hint: 'stelectl whoami, stelectl node list and stelectl config info show serial numbers',
    })
  return withNodes(run, async ({ nodes }) => {
    const outcomes = await fanOut(nodes, (node) =>
      readCall(run, (call) =>
        node.client.credential.denyCertificate({ serial, reason: run.options.reason ?? '' }, call),
      ),
    )
    return report(run.output, outcomes, {
      data: (value) => value,
      text: (answered) =>
        answered
          .map(({ node, value }) => `${node} refuses ${serial} from now on (${value.deniedTotal} in all)`)
          .join('\n'),
    })
  })
}

function distance(at: Date | undefined, run: Run<unknown>): string {
  return at === undefined ? 'never' : formatDistance(at, run.clock.now())
}

function usesOf(credential: JoinCredential | undefined): string {
  if (credential === undefined) return ''
  return credential.maxUses === 0 ? `${credential.uses}` : `${credential.uses} of ${credential.maxUses}`
}
