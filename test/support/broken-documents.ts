/**
 * Documents that are wrong in one place, with a marker in that place: each field of NodeConfig in turn, each form of YAML error, and fields of
 * the kubeadm documents. Whoever is shown one must not let the marker out.
 */
import { stringify } from 'yaml'
import { nodeConfigJsonSchema } from '#config'

export const MARKER = 'mArKeR-7f3a91'

type Schema = {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
}

export type Broken = { readonly where: string; readonly text: string }

/** No rule of any field admits it: spaces, an exclamation mark and a control character around the marker. */
const VALUE = `! ${MARKER} \u0001`

function leaves(schema: Schema, path: readonly (string | number)[] = []): (readonly (string | number)[])[] {
  if (schema.properties !== undefined) {
    return Object.entries(schema.properties).flatMap(([name, inner]) => leaves(inner, [...path, name]))
  }
  if (schema.items !== undefined) return leaves(schema.items, [...path, 0])
  if (typeof schema.additionalProperties === 'object')
    return leaves(schema.additionalProperties, [...path, 'example.test'])
  return [path]
}

function nest(path: readonly (string | number)[], value: unknown): unknown {
  const [step, ...rest] = path
  if (step === undefined) return value
  return typeof step === 'number' ? [nest(rest, value)] : { [step]: nest(rest, value) }
}

const HEAD = { apiVersion: 'stele.dev/v1alpha1', kind: 'NodeConfig' }

function fieldsOfNodeConfig(): Broken[] {
  // The exported schema is plain JSON Schema; only its nesting matters here.
  const paths = leaves(nodeConfigJsonSchema() as Schema).filter(
    ([first]) => first !== 'apiVersion' && first !== 'kind',
  )
  return paths.flatMap((path) => [
    { where: `${path.join('.')} is text`, text: stringify({ ...HEAD, ...(nest(path, VALUE) as object) }) },
    {
      where: `${path.join('.')} is a list`,
      text: stringify({ ...HEAD, ...(nest(path, [[VALUE]]) as object) }),
    },
    {
      where: `${path.join('.')} is a map`,
      text: stringify({ ...HEAD, ...(nest(path, { password: VALUE }) as object) }),
    },
  ])
}

const KUBEADM: readonly (readonly [string, readonly (string | number)[]])[] = [
  ['InitConfiguration', ['bootstrapTokens', 0, 'token']],
  ['InitConfiguration', ['certificateKey']],
  ['InitConfiguration', ['localAPIEndpoint', 'advertiseAddress']],
  ['InitConfiguration', ['nodeRegistration', 'kubeletExtraArgs', 0, 'name']],
  ['ClusterConfiguration', ['kubernetesVersion']],
  ['ClusterConfiguration', ['controlPlaneEndpoint']],
  ['ClusterConfiguration', ['networking', 'podSubnet']],
  ['JoinConfiguration', ['discovery', 'bootstrapToken', 'token']],
  ['JoinConfiguration', ['discovery', 'bootstrapToken', 'apiServerEndpoint']],
  ['JoinConfiguration', ['discovery', 'bootstrapToken', 'caCertHashes', 0]],
  ['JoinConfiguration', ['discovery', 'tlsBootstrapToken']],
  ['JoinConfiguration', ['controlPlane', 'certificateKey']],
]

function fieldsOfKubeadm(): Broken[] {
  return KUBEADM.map(([kind, path]) => ({
    where: `${kind} ${path.join('.')}`,
    text: stringify({
      apiVersion: 'kubeadm.k8s.io/v1beta4',
      kind,
      ...(nest(path, { [path[0] ?? '']: VALUE }) as object),
    }),
  }))
}

const SYNTAX: readonly (readonly [string, string])[] = [
  ['an open quote', `trust:\n  password: "${MARKER}\n`],
  ['an alias', `trust:\n  password: *${MARKER}\n`],
  ['an anchor', `trust:\n  password: &${MARKER} x\n`],
  ['a tag', `trust:\n  password: !${MARKER} x\n`],
  ['a colon in a value', `trust:\n  password: ${MARKER}: ${MARKER}\n`],
  ['no space after the colon', `trust:\n  password:${MARKER}\n`],
  ['a tab', `trust:\n\tpassword: ${MARKER}\n`],
  ['a key twice', `trust:\n  password: ${MARKER}-one\n  password: ${MARKER}-two\n`],
  ['wrong indentation', `trust:\n    username: a\n  password: ${MARKER}\n`],
  ['a bad escape', `trust:\n  password: "\\q${MARKER}"\n`],
  ['an open bracket', `trust: {password: ${MARKER}\n`],
  ['a block in a flow', `trust: {password: |\n  ${MARKER}\n}\n`],
  ['a directive', `%${MARKER}\n---\ntrust: {}\n`],
  ['a bad block header', `trust:\n  password: |${MARKER}\n`],
  ['text alone', `${MARKER}\n`],
  ['a merge key', `trust:\n  <<: ${MARKER}\n`],
  ['a PEM that is cut', `trust:\n  caKey: |\n    -----BEGIN PRIVATE KEY-----\n    ${MARKER}\n`],
]

function syntaxErrors(): Broken[] {
  const head = 'apiVersion: stele.dev/v1alpha1\nkind: NodeConfig\n'
  return SYNTAX.map(([where, text]) => ({ where, text: text.startsWith('%') ? text : head + text }))
}

/** Envelopes and foreign formats that are refused before any document is read. */
function foreignFormats(): Broken[] {
  return [
    { where: 'a shell script', text: `#!/bin/sh\necho ${MARKER}\n` },
    { where: 'another cloud-config', text: `#cloud-config\npassword: ${MARKER}\n` },
    { where: 'an HTML page', text: `<html><body>${MARKER}</body></html>` },
    { where: 'Ignition', text: `{"ignition":{"version":"3.4.0"},"passwd":{"users":[{"name":"${MARKER}"}]}}` },
    { where: 'another kind', text: `apiVersion: v1\nkind: Secret\ndata:\n  password: ${MARKER}\n` },
    {
      where: 'base64 with a stray character',
      text: `${Buffer.from(`password: ${MARKER}`.repeat(9)).toString('base64').slice(0, 80)}%${MARKER}`,
    },
  ]
}

export function brokenDocuments(): readonly Broken[] {
  return [...fieldsOfNodeConfig(), ...fieldsOfKubeadm(), ...syntaxErrors()]
}

export function brokenUserData(): readonly Broken[] {
  return [...brokenDocuments(), ...foreignFormats()]
}
