/** `stelectl config`: the contexts of this machine. */
import { X509Certificate } from 'node:crypto'
import type { Command } from 'commander'
import {
  chooseContext,
  loadContexts,
  loadOrNone,
  mergeContexts,
  parseContexts,
  removeContext,
  renameContext,
  saveContexts,
  type Context,
} from '../context.ts'
import { formatDistance } from '../duration.ts'
import type { ExitCode } from '../failure.ts'
import { CliFault } from '../fault.ts'
import { readInput } from '../file.ts'
import { verb, type Host, type Run } from '../run.ts'
import { fields, table } from '../text.ts'
import { examples } from './help.ts'

type MergeOptions = { readonly force?: boolean; readonly use?: boolean }

export function addContext(program: Command, host: Host): void {
  const config = program.command('config').description('contexts: which nodes, and who is asking')
  const contexts = config
    .command('contexts')
    .description('list the contexts; * marks the current one')
    .action(verb(host, listContexts))
  examples(contexts, ['config contexts'])
  const use = config
    .command('use')
    .description('make a context the current one')
    .argument('<name>', 'name of the context')
    .action(verb(host, useContext))
  examples(use, ['config use demo'])
  const info = config
    .command('info')
    .description('show one context: its nodes and its certificate')
    .action(verb(host, showContext))
  examples(info, ['config info', 'config info --context reader -o json'])
  const merge = config
    .command('merge')
    .description('add the contexts of another file')
    .argument('<file>', 'a file of contexts, or - for stdin')
    .option('--force', 'replace contexts that have the same name')
    .option('--use', 'make the first one the current context')
    .action(verb<MergeOptions>(host, mergeFile))
  examples(merge, ['config merge stelectl.yaml', 'config merge stelectl.yaml --force'])
  const remove = config
    .command('remove')
    .description('take a context, and its key, out of the file')
    .argument('<name>', 'name of the context')
    .action(verb(host, removeOne))
  examples(remove, ['config remove demo'])
  const rename = config
    .command('rename')
    .description('give a context another name')
    .argument('<name>', 'name of the context')
    .argument('<new-name>', 'its new name')
    .action(verb(host, renameOne))
  examples(rename, ['config rename demo lab'])
}

async function listContexts(run: Run): Promise<ExitCode> {
  const { current, contexts } = await loadContexts(run.shared.configPath)
  const rows = Object.keys(contexts)
    .sort()
    .flatMap((name) => {
      const context = contexts[name]
      return context === undefined ? [] : [{ name, current: name === current, ...describeContext(context) }]
    })
  run.output.result(rows, () =>
    table(
      ['', 'CONTEXT', 'NODES', 'NAME', 'ROLES', 'EXPIRES'],
      rows.map((row) => [
        row.current ? '*' : ' ',
        row.name,
        row.nodes.map((node) => node.name).join(','),
        row.commonName,
        row.roles.join(' '),
        row.notAfter === undefined ? 'unreadable' : formatDistance(row.notAfter, run.clock.now()),
      ]),
    ),
  )
  return 0
}

async function useContext(run: Run): Promise<ExitCode> {
  const contexts = await loadContexts(run.shared.configPath)
  const { name } = chooseContext(contexts, run.operands[0])
  await saveContexts(run.shared.configPath, { ...contexts, current: name })
  run.output.result({ current: name }, () => `context ${name} is current`)
  return 0
}

async function showContext(run: Run): Promise<ExitCode> {
  const contexts = await loadContexts(run.shared.configPath)
  const { name, context } = chooseContext(contexts, run.shared.context)
  const seen = describeContext(context)
  run.output.result({ name, ...seen }, () =>
    fields([
      ['context', name],
      ['file', run.shared.configPath],
      ['name', seen.commonName],
      ['roles', seen.roles.join(' ')],
      ['expires', seen.notAfter === undefined ? 'unreadable' : seen.notAfter.toISOString()],
      ['serial', seen.serial],
      ...seen.nodes.map((node): [string, string] => ['node', `${node.name}  ${node.endpoint}`]),
    ]),
  )
  return 0
}

async function mergeFile(run: Run<MergeOptions>): Promise<ExitCode> {
  const { bytes, label } = await readInput(run.operands[0] ?? '-', { signal: run.signal })
  const added = await parseContexts(bytes.toString('utf8'), label)
  const base = await loadOrNone(run.shared.configPath)
  const taken = Object.keys(added.contexts).filter(
    (name) =>
      Object.hasOwn(base.contexts, name) &&
      JSON.stringify(base.contexts[name]) !== JSON.stringify(added.contexts[name]),
  )
  if (taken.length > 0 && run.options.force !== true) {
    throw new CliFault('context_exists', `other contexts have the same name: ${taken.join(', ')}`, {
      hint: 'say --force to replace them',
    })
  }
  const merged = mergeContexts(base, added)
  const first = Object.keys(added.contexts)[0]
  const result = run.options.use === true && first !== undefined ? { ...merged, current: first } : merged
  await saveContexts(run.shared.configPath, result)
  const names = Object.keys(added.contexts)
  run.output.result({ merged: names, current: result.current }, () =>
    names.map((name) => `context ${name} merged${name === result.current ? ', current' : ''}`).join('\n'),
  )
  return 0
}

async function removeOne(run: Run): Promise<ExitCode> {
  const [wanted = ''] = run.operands
  const { name } = chooseContext(await loadContexts(run.shared.configPath), wanted)
  const { current } = await removeContext(run.shared.configPath, name)
  run.output.result(
    { removed: name, current },
    () => `context ${name} removed${current === undefined ? ', no context is current' : ''}`,
  )
  return 0
}

async function renameOne(run: Run): Promise<ExitCode> {
  const [from = '', to = ''] = run.operands
  const renamed = renameContext(await loadContexts(run.shared.configPath), from, to)
  await saveContexts(run.shared.configPath, renamed)
  run.output.result(
    { renamed: from, name: to, current: renamed.current },
    () => `context ${from} is now ${to}`,
  )
  return 0
}

type ContextView = {
  readonly nodes: Context['nodes']
  readonly commonName: string
  readonly roles: readonly string[]
  readonly serial: string
  readonly notAfter: Date | undefined
}

/** What may be shown of a context: never its key. Pure. */
export function describeContext(context: Context): ContextView {
  const certificate = readCertificate(context.certificate)
  if (certificate === undefined) {
    return { nodes: context.nodes, commonName: '', roles: [], serial: '', notAfter: undefined }
  }
  const subject = certificate.subject.split('\n')
  return {
    nodes: context.nodes,
    commonName: valuesOf(subject, 'CN')[0] ?? '',
    roles: valuesOf(subject, 'O'),
    serial: certificate.serialNumber.toLowerCase(),
    notAfter: new Date(certificate.validTo),
  }
}

function valuesOf(subject: readonly string[], type: string): string[] {
  return subject.filter((line) => line.startsWith(`${type}=`)).map((line) => line.slice(type.length + 1))
}

function readCertificate(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem)
  } catch {
    return undefined
  }
}
