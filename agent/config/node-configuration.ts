/**
 * The node configuration: kubeadm documents and at most one NodeConfig, in one file.
 *
 * Invariants: every problem is reported at once and in the order of the file; nothing half-valid comes out; no message holds a value.
 */
import type { z } from 'zod'
import { err, ok, type Result } from '#kit/result'
import { checkDocument, valueAt } from './document/check.ts'
import { maskFindings } from './mask.ts'
import { readDocuments, type SourceDocument } from './document/read.ts'
import { closestName, sortFindings, type Finding, type Problem } from './finding.ts'
import { INIT_ONLY, kubeadmKinds, type KubeadmDocument } from './kubeadm/document.ts'
import { crossFieldProblems, type Role } from './v1alpha1/cross-field.ts'
import { emptyNodeConfig, withDefaults, type NodeConfig } from './v1alpha1/defaults.ts'
import { NODE_CONFIG_API, nodeConfigSchema, type NodeConfigDocument } from './v1alpha1/schema.ts'

export type NodeConfiguration = {
  /** With its defaults; of a file without one, the defaults alone. */
  readonly node: NodeConfig
  /** At most one of each kind, in the order of the file. */
  readonly kubeadm: readonly KubeadmDocument[]
  /** `undecided` when nothing in the file says it: such a node is a worker that joins no cluster. */
  readonly role: Role
}

/** Documents as they were written, checked, without defaults. */
export type WrittenConfiguration = {
  readonly node: NodeConfigDocument | undefined
  readonly kubeadm: readonly KubeadmDocument[]
  readonly order: readonly (NodeConfigDocument | KubeadmDocument)[]
  readonly role: Role
}

/** Returns the configuration, or everything that is wrong with `text`, sorted by place. `file` is the name that findings carry. */
export function parseNodeConfiguration(
  text: string,
  options: { readonly file: string },
): Result<NodeConfiguration, readonly Finding[]> {
  const written = readConfiguration(text, options)
  if (!written.ok) return written
  const { node, kubeadm, role } = written.value
  return ok({ node: node === undefined ? emptyNodeConfig() : withDefaults(node), kubeadm, role })
}

/** As `parseNodeConfiguration`, without defaults. */
export function readConfiguration(
  text: string,
  options: { readonly file: string },
): Result<WrittenConfiguration, readonly Finding[]> {
  const { documents, findings: syntax } = readDocuments(text, options)
  const findings = [...syntax]
  if (documents.length === 0 && findings.length === 0) findings.push(empty(options.file))
  const checked = documents.flatMap((source) => {
    const result = checkKind(source)
    if (!result.ok) findings.push(...result.error)
    return result.ok ? [{ source, document: result.value }] : []
  })
  findings.push(...documents.flatMap(maskFindings))
  const together = documents.flatMap((source) => (kindOf(source) === undefined ? [] : [source]))
  findings.push(...togetherFindings(together))
  const node = checked.flatMap(({ document }) => (document.kind === 'NodeConfig' ? [document] : []))[0]
  const kubeadm = checked.flatMap(({ document }) => (document.kind === 'NodeConfig' ? [] : [document]))
  const role = roleOf(node, kubeadm)
  const nodeSource = checked.find(({ document }) => document === node)?.source
  if (node !== undefined && nodeSource !== undefined) {
    const problems = crossFieldProblems(node, role)
    findings.push(...problems.map(({ path, problem }) => nodeSource.finding(path, problem)))
  }
  if (findings.length > 0) return err(sortFindings(findings))
  return ok({ node, kubeadm, order: checked.map(({ document }) => document), role })
}

/** Kind → apiVersion → schema. */
const schemas: Readonly<
  Record<string, Readonly<Record<string, z.ZodType<NodeConfigDocument | KubeadmDocument>>>>
> = {
  NodeConfig: { [NODE_CONFIG_API]: nodeConfigSchema },
  ...kubeadmKinds,
}

function kindOf(source: SourceDocument): string | undefined {
  const kind = valueAt(source.data, ['kind'])
  return typeof kind === 'string' && Object.hasOwn(schemas, kind) ? kind : undefined
}

function checkKind(source: SourceDocument): Result<NodeConfigDocument | KubeadmDocument, readonly Finding[]> {
  if (!isMapping(source.data)) {
    const message = 'a document of a node configuration has to be a mapping with apiVersion and kind'
    return err([source.finding([], { code: 'not_a_mapping', message })])
  }
  const kind = kindOf(source)
  if (kind === undefined) return err([source.finding(['kind'], kindProblem(valueAt(source.data, ['kind'])))])
  const accepted = schemas[kind] ?? {}
  const version = valueAt(source.data, ['apiVersion'])
  const schema =
    typeof version === 'string' && Object.hasOwn(accepted, version) ? accepted[version] : undefined
  if (schema === undefined) {
    const message = `the apiVersion of ${kind} has to be ${Object.keys(accepted).join(' or ')}`
    return err([source.finding(['apiVersion'], { code: 'unknown_version', message })])
  }
  return checkDocument(schema, source)
}

function isMapping(data: unknown): boolean {
  return typeof data === 'object' && data !== null && !Array.isArray(data)
}

function kindProblem(kind: unknown): Problem {
  const known = Object.keys(schemas)
  const closest = typeof kind === 'string' ? closestName(kind, known) : undefined
  return {
    code: 'unknown_kind',
    message: `the kind of a document has to be one of ${known.join(', ')}`,
    ...(closest === undefined ? {} : { hint: `did you mean ${closest}?` }),
  }
}

function roleOf(node: NodeConfigDocument | undefined, kubeadm: readonly KubeadmDocument[]): Role {
  const join = kubeadm.find((document) => document.kind === 'JoinConfiguration')
  if (join !== undefined) return join.controlPlane === undefined ? 'worker' : 'control-plane'
  const isFirst = kubeadm.some(({ kind }) => kind === 'InitConfiguration' || kind === 'ClusterConfiguration')
  return isFirst || node?.trust?.caKey !== undefined ? 'control-plane' : 'undecided'
}

/** What documents demand of each other; judged by kind alone, so that a broken document is still counted. */
function togetherFindings(sources: readonly SourceDocument[]): readonly Finding[] {
  const first = new Map<string, SourceDocument>()
  const findings: Finding[] = []
  for (const source of sources) {
    const kind = kindOf(source) ?? ''
    const earlier = first.get(kind)
    if (earlier === undefined) first.set(kind, source)
    else {
      const message = `${kind} is written twice, in lines ${earlier.position.line} and ${source.position.line}`
      findings.push(source.finding([], { code: 'duplicate_document', message }))
    }
  }
  findings.push(...initAndJoin(first), ...mixedVersions(first))
  return findings
}

function initAndJoin(first: ReadonlyMap<string, SourceDocument>): readonly Finding[] {
  const join = first.get('JoinConfiguration')
  const init = first.get('InitConfiguration')
  if (join !== undefined && init !== undefined) {
    const message =
      'a node either starts a cluster or joins one: InitConfiguration and JoinConfiguration exclude each other'
    return [join.finding(['kind'], { code: 'init_and_join', message })]
  }
  const isInit = init !== undefined || first.has('ClusterConfiguration')
  if (join === undefined && isInit) return []
  return [...first].flatMap(([kind, source]) => {
    if (!INIT_ONLY.has(kind)) return []
    const message = `${kind} is read by kubeadm init alone, and this node does not run it`
    const hint =
      kind === 'KubeletConfiguration'
        ? 'put a kubelet patch into files (/etc/kubernetes/patches) and name the folder in JoinConfiguration.patches.directory'
        : 'remove the document: a joining node takes this from the cluster'
    return [source.finding(['kind'], { code: 'kind_without_effect', message, hint })]
  })
}

function mixedVersions(first: ReadonlyMap<string, SourceDocument>): readonly Finding[] {
  const kubeadm = ['InitConfiguration', 'JoinConfiguration', 'ClusterConfiguration'].flatMap((kind) => {
    const source = first.get(kind)
    return source === undefined ? [] : [source]
  })
  const versionOf = (source: SourceDocument) => valueAt(source.data, ['apiVersion'])
  const other = kubeadm.find((source) => versionOf(source) !== versionOf(kubeadm[0] ?? source))
  if (other === undefined) return []
  const message = 'the kubeadm documents of one file have to be of one apiVersion'
  return [other.finding(['apiVersion'], { code: 'mixed_versions', message })]
}

function empty(file: string): Finding {
  return {
    severity: 'error',
    code: 'empty',
    file,
    document: 1,
    line: 1,
    column: 1,
    path: '',
    message: 'there is no document in this file',
  }
}
