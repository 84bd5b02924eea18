/**
 * What went into an image, beside the image: components with version, source, bytes and hash; every program; the root hash; the same as an SPDX
 * document. Pure: text in, values out.
 *
 * Invariant: nothing here depends on when or where the build ran.
 */
import { createHash } from 'node:crypto'
import { distinct, type Part } from './parts.ts'
import type { DebianPackage } from './step/packages.ts'
import type { RootFile, RootReport } from './step/inspect.ts'

export type Component = {
  readonly name: string
  readonly version: string
  /** The source package, or the module or package that it was built from. */
  readonly source: string
  readonly origin: 'debian' | 'go' | 'npm' | 'stele'
  readonly files: number
  readonly bytes: number
  /** SHA-256 over the lines "<sha256>  <path>" of its files, in byte order of the paths. */
  readonly sha256: string
  /** What is compiled into it, sorted; none where nothing is, or where nobody tells. */
  readonly parts?: readonly Part[]
}

export type Artifact = { readonly name: string; readonly bytes: number; readonly sha256: string }

export type Manifest = {
  readonly apiVersion: 'images.stele.dev/v1alpha1'
  readonly kind: 'ImageManifest'
  readonly profile: string
  readonly version: string
  readonly epoch: number
  /** Of the verified root; none where nothing verifies it. */
  readonly rootHash?: string
  /** Of the root as a compressed filesystem. */
  readonly rootBytes: number
  readonly commandLine: string
  readonly kernel: string
  readonly artifacts: readonly Artifact[]
  readonly components: readonly Component[]
  readonly executables: readonly string[]
}

/** Something that is not a package of Debian, and the paths that are its own. */
export type Foreign = Pick<Component, 'name' | 'version' | 'source' | 'origin' | 'parts'> & {
  readonly owns: (path: string) => boolean
}

/** Components of a root, sorted by name: each file belongs to the first foreign owner, else to its package, else to `stele`. */
export function components(
  report: RootReport,
  packages: readonly DebianPackage[],
  foreign: readonly Foreign[],
  own: { readonly version: string; readonly parts: readonly Part[] },
): readonly Component[] {
  const owners = new Map(packages.flatMap((each) => each.paths.map((path) => [merged(path), each] as const)))
  const groups = new Map<
    string,
    { readonly about: Omit<Component, 'files' | 'bytes' | 'sha256'>; readonly files: RootFile[] }
  >()
  for (const file of report.files) {
    const about = describeOwner(file.path, { foreign, owners, own })
    const group = groups.get(about.name) ?? { about, files: [] }
    group.files.push(file)
    groups.set(about.name, group)
  }
  return [...groups.values()]
    .map(({ about, files }) => componentOf(about, files))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** A component with what its files, in byte order of their paths, add up to. */
export function componentOf(
  about: Omit<Component, 'files' | 'bytes' | 'sha256'>,
  files: readonly Pick<RootFile, 'path' | 'bytes' | 'sha256'>[],
): Component {
  return {
    ...about,
    files: files.length,
    bytes: files.reduce((sum, file) => sum + file.bytes, 0),
    sha256: digest(files.map((file) => `${file.sha256}  ${file.path}\n`).join('')),
  }
}

function describeOwner(
  path: string,
  known: {
    readonly foreign: readonly Foreign[]
    readonly owners: ReadonlyMap<string, DebianPackage>
    readonly own: { readonly version: string; readonly parts: readonly Part[] }
  },
): Omit<Component, 'files' | 'bytes' | 'sha256'> {
  const stranger = known.foreign.find((each) => each.owns(path))
  if (stranger) {
    const { owns: _, ...about } = stranger
    return about
  }
  const owner = known.owners.get(path) ?? known.owners.get(`${path}.xz`)
  if (owner) {
    const source = `${owner.source} ${owner.sourceVersion}`
    return { name: owner.name, version: owner.version, source, origin: 'debian' }
  }
  return { name: 'stele', source: 'stele', origin: 'stele', ...known.own }
}

/** A path as it is on a system whose /bin, /sbin and /lib are links into /usr. */
function merged(path: string): string {
  return /^(bin|sbin|lib|lib64)\//.test(path) ? `usr/${path}` : path
}

/**
 * The manifest as an SPDX 2.3 document (https://spdx.github.io/spdx-spec/v2.3/): one package a component, one for each thing that is compiled into any,
 * and which contains which.
 */
export function toSpdx(manifest: Manifest): unknown {
  const created = new Date(manifest.epoch * 1000).toISOString().replace(/\.\d+Z$/, 'Z')
  const unique = digest(JSON.stringify([manifest.rootHash, manifest.artifacts]))
  const parts = distinct(manifest.components.flatMap((component) => component.parts ?? []))
  return {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: 'SPDXRef-DOCUMENT',
    name: `stele-${manifest.profile}-${manifest.version}`,
    documentNamespace: `urn:stele:image:${unique}`,
    creationInfo: { created, creators: [`Tool: stele-images-${manifest.version}`] },
    packages: [
      ...manifest.components.map((component) => ({
        ...spdxPackage(componentId(component), component),
        supplier: component.origin === 'debian' ? 'Organization: Debian' : 'NOASSERTION',
        sourceInfo: component.source,
      })),
      ...parts.map((each) => spdxPackage(partId(each), { ...each, source: each.name })),
    ],
    relationships: manifest.components.flatMap((component) => [
      relationship('SPDXRef-DOCUMENT', 'DESCRIBES', componentId(component)),
      ...(component.parts ?? []).map((each) =>
        relationship(componentId(component), 'CONTAINS', partId(each)),
      ),
    ]),
  }
}

type Described = Pick<Component, 'name' | 'version' | 'source' | 'origin'> & Pick<Part, 'license'>

function spdxPackage(id: string, described: Described): object {
  return {
    SPDXID: id,
    name: described.name,
    versionInfo: described.version,
    downloadLocation: 'NOASSERTION',
    filesAnalyzed: false,
    licenseConcluded: 'NOASSERTION',
    licenseDeclared: described.license ?? 'NOASSERTION',
    copyrightText: 'NOASSERTION',
    externalRefs: [
      {
        referenceCategory: 'PACKAGE-MANAGER',
        referenceType: 'purl',
        referenceLocator: packageUrl(described),
      },
    ],
  }
}

function relationship(from: string, relationshipType: 'DESCRIBES' | 'CONTAINS', to: string): object {
  return { spdxElementId: from, relationshipType, relatedSpdxElement: to }
}

function componentId({ name }: Component): string {
  return `SPDXRef-Package-${name.replaceAll(/[^A-Za-z0-9.-]/g, '-')}`
}

/** With a digest, as names that differ in what an identifier cannot hold would be one. */
function partId({ origin, name, version }: Part): string {
  const readable = `${name}-${version}`.replaceAll(/[^A-Za-z0-9.-]/g, '-')
  return `SPDXRef-${origin}-${readable}-${digest(`${name} ${version}`).slice(0, 8)}`
}

/** https://github.com/package-url/purl-spec: a slash parts a name from what it is in. */
function packageUrl({ name, version, origin, source }: Described): string {
  const at = encodeURIComponent(version)
  const path = (text: string) => text.split('/').map(encodeURIComponent).join('/')
  switch (origin) {
    case 'debian':
      return `pkg:deb/debian/${encodeURIComponent(name)}@${at}?arch=amd64`
    case 'go':
      return `pkg:golang/${path(source)}@${at}`
    case 'npm':
      return `pkg:npm/${path(source)}@${at}`
    case 'stele':
      return `pkg:generic/${encodeURIComponent(name)}@${at}`
  }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
