import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { formatFinding } from '#config'
import { parseManifests } from '#render'

const EXAMPLE = readFileSync(
  join(import.meta.dirname, '../../../bootstrap-provider/examples/cluster.yaml'),
  'utf8',
)

const refuse = (text: string) => {
  const parsed = parseManifests(text, { file: 'm' })
  if (parsed.ok) throw new Error('accepted')
  return parsed.error.map((one) => `${one.code} ${one.path}`)
}

describe('parseManifests', () => {
  it('reads the example', () => {
    const parsed = parseManifests(EXAMPLE, { file: 'm' })
    if (!parsed.ok) throw new Error(parsed.error.map(formatFinding).join('\n'))
    const { cluster, machines, configs, warnings } = parsed.value
    expect(cluster.metadata.name).toBe('demo')
    expect(machines.map((one) => one.metadata.name)).toEqual(['cp-1', 'worker-1'])
    expect(configs.map((one) => one.metadata.name)).toEqual(['cp-1', 'worker-1'])
    expect(warnings).toEqual([])
  })

  it('leaves foreign fields and kinds alone, and warns of the kinds', () => {
    const text = EXAMPLE.replace(
      'spec:\n  controlPlaneEndpoint',
      'spec:\n  infrastructureRef: {kind: X}\n  controlPlaneEndpoint',
    )
    const parsed = parseManifests(`${text}---\napiVersion: v1\nkind: Secret\ndata: {a: M4RKER}\n`, {
      file: 'm',
    })
    if (!parsed.ok) throw new Error(parsed.error.map(formatFinding).join('\n'))
    expect(parsed.value.warnings.map((one) => [one.severity, one.code])).toEqual([
      ['warning', 'kind_ignored'],
    ])
    expect(JSON.stringify(parsed.value.warnings)).not.toContain('M4RKER')
  })

  it.each([
    [
      'profiling\n          value',
      'profiling\n          valeu',
      [
        'required spec.clusterConfiguration.apiServer.extraArgs[0].value',
        'unknown_key spec.clusterConfiguration.apiServer.extraArgs[0].valeu',
      ],
    ],
    [
      "max_map_count: '262144'",
      'max_map_count: 262144',
      ['ambiguous_scalar spec.nodeConfig.sysctls["vm.max_map_count"]'],
    ],
    ['  nodeConfig:\n', '  nodeConfig:\n    hostname: other\n', ['unknown_key spec.nodeConfig.hostname']],
    [
      '  nodeConfig:\n',
      '  nodeConfig:\n    trust: {caKey: x}\n',
      ['unknown_key spec.nodeConfig.trust.caKey'],
    ],
    [
      'name: demo\n',
      'name: other\n',
      ['reference_dangling spec.clusterName', 'reference_dangling spec.clusterName'],
    ],
    [
      'kind: SteleConfig\n      name: cp-1',
      'kind: SteleConfig\n      name: cp-2',
      ['reference_dangling spec.bootstrap.configRef.name'],
    ],
    ['port: 6443', 'port: "6443"', ['wrong_type spec.controlPlaneEndpoint.port']],
    ['v1beta2\nkind: Cluster', 'v1beta1\nkind: Cluster', ['not_allowed apiVersion']],
    ['[10.96.0.0/12]', '[10.96.0.0]', ['cidr_form spec.clusterNetwork.services.cidrBlocks[0]']],
  ])('refuses %j written as %j', (good, bad, expected) => {
    expect(EXAMPLE).toContain(good)
    expect(refuse(EXAMPLE.replace(good, bad)).toSorted()).toEqual(expected.toSorted())
  })

  it('refuses no Cluster, two Clusters, and the same object twice', () => {
    const [cluster = '', machine = ''] = EXAMPLE.split('---\n')
    expect(refuse('')).toEqual(['cluster_missing '])
    expect(refuse(machine)).toEqual(['cluster_missing '])
    expect(refuse(`${cluster}---\n${cluster.replace('name: demo', 'name: two')}`)).toEqual(['two_clusters '])
    expect(refuse(`${EXAMPLE}---\n${machine}`)).toEqual(['duplicate_object metadata.name'])
  })
})
