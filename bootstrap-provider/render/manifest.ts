/** A file of manifests → the Cluster, its Machines and their SteleConfigs, each with its place. Pure. */
import { z } from 'zod'
import {
  checkDocument,
  fields,
  readDocuments,
  sortFindings,
  valueAt,
  type Finding,
  type Problem,
  type Path,
  type SourceDocument,
} from '#config'
import { err, ok, type Result } from '#kit/result'
import {
  CLUSTER_API,
  clusterSpec,
  machineSpec,
  metadata,
  type ClusterSpec,
  type MachineSpec,
  type ObjectMetadata,
} from '../api/v1beta1/cluster-api.ts'
import { STELE_CONFIG_API, steleConfigSpec, type SteleConfigSpec } from '../api/v1beta1/stele-config.ts'

/** Makes a finding in the manifest that an object came from. */
export type Locate = (path: Path, problem: Problem) => Finding

type ManifestObject<Spec> = {
  readonly metadata: ObjectMetadata
  readonly spec: Spec
  readonly finding: Locate
}

export type Cluster = ManifestObject<ClusterSpec>
export type Machine = ManifestObject<MachineSpec>
export type SteleConfig = ManifestObject<SteleConfigSpec>

export type Manifests = {
  readonly cluster: Cluster
  /** In the order of the file. */
  readonly machines: readonly Machine[]
  readonly configs: readonly SteleConfig[]
  /** Documents of other kinds, which were left alone. */
  readonly warnings: readonly Finding[]
}

const object = <Spec extends z.ZodType>(apiVersion: string, kind: string, spec: Spec) =>
  z.looseObject({ apiVersion: z.literal(apiVersion), kind: z.literal(kind), metadata, spec })

const clusterSchema = object(CLUSTER_API, 'Cluster', clusterSpec)
const machineSchema = object(CLUSTER_API, 'Machine', machineSpec)
const steleConfigSchema = fields({
  apiVersion: z.literal(STELE_CONFIG_API),
  kind: z.literal('SteleConfig'),
  metadata,
  spec: steleConfigSpec.optional(),
  // Written by a controller; a manifest that was read back from an API server has it.
  status: z.unknown().optional(),
})

/** Returns what the file holds, or everything that is wrong with it: unknown fields of SteleConfigs, dangling references, two Clusters. */
export function parseManifests(
  text: string,
  options: { readonly file: string },
): Result<Manifests, readonly Finding[]> {
  const { documents, findings: syntax } = readDocuments(text, options)
  const findings = [...syntax]
  const clusters: Cluster[] = []
  const machines: Machine[] = []
  const configs: SteleConfig[] = []
  const warnings: Finding[] = []
  for (const source of documents) {
    switch (valueAt(source.data, ['kind'])) {
      case 'Cluster':
        take(source, clusterSchema, clusters, findings)
        break
      case 'Machine':
        take(source, machineSchema, machines, findings)
        break
      case 'SteleConfig':
        take(source, steleConfigSchema, configs, findings)
        break
      default:
        warnings.push(ignored(source))
    }
  }
  findings.push(...duplicates([clusters, machines, configs]))
  const [cluster, second] = clusters
  if (second !== undefined) {
    findings.push(
      second.finding([], { code: 'two_clusters', message: 'a file holds the manifests of one Cluster' }),
    )
  }
  if (cluster === undefined) {
    if (findings.length === 0) findings.push(missingCluster(options.file))
    return err(sortFindings(findings))
  }
  if (findings.length === 0) findings.push(...references({ cluster, machines, configs, warnings }))
  return findings.length > 0 ? err(sortFindings(findings)) : ok({ cluster, machines, configs, warnings })
}

function take<Spec>(
  source: SourceDocument,
  schema: z.ZodType<{ metadata: ObjectMetadata; spec?: Spec }>,
  into: ManifestObject<NonNullable<Spec>>[],
  findings: Finding[],
): void {
  const checked = checkDocument(schema, source)
  if (!checked.ok) {
    findings.push(...checked.error)
    return
  }
  // Only a SteleConfig may come without a spec, and all fields of that are optional.
  const spec = checked.value.spec ?? ({} as NonNullable<Spec>)
  into.push({
    metadata: checked.value.metadata,
    spec,
    finding: (path, problem) => source.finding(path, problem),
  })
}

function ignored(source: SourceDocument): Finding {
  const problem = { code: 'kind_ignored', message: 'only Cluster, Machine and SteleConfig are read here' }
  return { ...source.finding(['kind'], problem), severity: 'warning' }
}

function duplicates(groups: readonly (readonly ManifestObject<unknown>[])[]): readonly Finding[] {
  return groups.flatMap((group) => {
    const seen = new Set<string>()
    return group.flatMap((one) => {
      const { name } = one.metadata
      if (!seen.has(name)) {
        seen.add(name)
        return []
      }
      return [
        one.finding(['metadata', 'name'], {
          code: 'duplicate_object',
          message: 'another object of this kind has the same name',
        }),
      ]
    })
  })
}

function references({ cluster, machines, configs }: Manifests): readonly Finding[] {
  return machines.flatMap((machine) => {
    const found: Finding[] = []
    if (machine.spec.clusterName !== cluster.metadata.name) {
      const message = 'is not the name of the Cluster of this file'
      found.push(machine.finding(['spec', 'clusterName'], { code: 'reference_dangling', message }))
    }
    const ref = machine.spec.bootstrap.configRef
    if (ref?.kind === 'SteleConfig' && !configs.some((config) => config.metadata.name === ref.name)) {
      const message = 'no SteleConfig of this name is in the file'
      found.push(
        machine.finding(['spec', 'bootstrap', 'configRef', 'name'], { code: 'reference_dangling', message }),
      )
    }
    return found
  })
}

function missingCluster(file: string): Finding {
  return {
    severity: 'error',
    code: 'cluster_missing',
    file,
    document: 1,
    line: 1,
    column: 1,
    path: '',
    message: 'there is no Cluster in this file',
  }
}
