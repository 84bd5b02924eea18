/**
 * What went into an image, beside the image: components with version, source, bytes and hash; every program; the root hash; the same as an SPDX
 * document. Pure: text in, values out.
 *
 * Invariant: nothing here depends on when or where the build ran.
 */
import { createHash } from 'node:crypto'
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
  readonly commandLine: string
  readonly kernel: string
  readonly artifacts: readonly Artifact[]
  readonly components: readonly Component[]
  readonly executables: readonly string[]
}

/** Something that is not a package of Debian, and the paths that are its own. */
export type Foreign = Pick<Component, 'name' | 'version' | 'source' | 'origin'> & {
  readonly owns: (path: string) => boolean
}

/** Components of a root, sorted by name: each file belongs to the first foreign owner, else to its package, else to `stele`. */
export function components(
  report: RootReport,
  packages: readonly DebianPackage[],
  foreign: readonly Foreign[],
  version: string,
): readonly Component[] {
  const owners = new Map(packages.flatMap((each) => each.paths.map((path) => [merged(path), each] as const)))
  const groups = new Map<
    string,
    { readonly about: Omit<Component, 'files' | 'bytes' | 'sha256'>; readonly files: RootFile[] }
  >()
  for (const file of report.files) {
    const about = describeOwner(file.path, { foreign, owners, version })
    const group = groups.get(about.name) ?? { about, files: [] }
    group.files.push(file)
    groups.set(about.name, group)
  }
  return [...groups.values()]
    .map(({ about, files }) => ({
      ...about,
      files: files.length,
      bytes: files.reduce((sum, file) => sum + file.bytes, 0),
      sha256: digest(files.map((file) => `${file.sha256}  ${file.path}\n`).join('')),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

function describeOwner(
  path: string,
  known: {
    readonly foreign: readonly Foreign[]
    readonly owners: ReadonlyMap<string, DebianPackage>
    readonly version: string
  },
): Omit<Component, 'files' | 'bytes' | 'sha256'> {
  const stranger = known.foreign.find((each) => each.owns(path))
  if (stranger) {
    const { name, version, source, origin } = stranger
    return { name, version, source, origin }
  }
  const owner = known.owners.get(path) ?? known.owners.get(`${path}.xz`)
  if (owner) {
    const source = `${owner.source} ${owner.sourceVersion}`
    return { name: owner.name, version: owner.version, source, origin: 'debian' }
  }
  return { name: 'stele', version: known.version, source: 'stele', origin: 'stele' }
}

/** A path as it is on a system whose /bin, /sbin and /lib are links into /usr. */
function merged(path: string): string {
  return /^(bin|sbin|lib|lib64)\//.test(path) ? `usr/${path}` : path
}

/** The manifest as an SPDX 2.3 document (https://spdx.github.io/spdx-spec/v2.3/), one package a component. */
export function toSpdx(manifest: Manifest): unknown {
  const id = (name: string) => `SPDXRef-Package-${name.replaceAll(/[^A-Za-z0-9.-]/g, '-')}`
  const created = new Date(manifest.epoch * 1000).toISOString().replace(/\.\d+Z$/, 'Z')
  const unique = digest(JSON.stringify([manifest.rootHash, manifest.artifacts]))
  return {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: 'SPDXRef-DOCUMENT',
    name: `stele-${manifest.profile}-${manifest.version}`,
    documentNamespace: `urn:stele:image:${unique}`,
    creationInfo: { created, creators: [`Tool: stele-images-${manifest.version}`] },
    packages: manifest.components.map((component) => ({
      SPDXID: id(component.name),
      name: component.name,
      versionInfo: component.version,
      supplier: component.origin === 'debian' ? 'Organization: Debian' : 'NOASSERTION',
      sourceInfo: component.source,
      downloadLocation: 'NOASSERTION',
      filesAnalyzed: false,
      licenseConcluded: 'NOASSERTION',
      licenseDeclared: 'NOASSERTION',
      copyrightText: 'NOASSERTION',
      externalRefs: [
        {
          referenceCategory: 'PACKAGE-MANAGER',
          referenceType: 'purl',
          referenceLocator: packageUrl(component),
        },
      ],
    })),
    relationships: manifest.components.map((component) => ({
      spdxElementId: 'SPDXRef-DOCUMENT',
      relationshipType: 'DESCRIBES',
      relatedSpdxElement: id(component.name),
    })),
  }
}

function packageUrl({ name, version, origin, source }: Component): string {
  const at = encodeURIComponent(version)
  switch (origin) {
    case 'debian':
      return `pkg:deb/debian/${encodeURIComponent(name)}@${at}?arch=amd64`
    case 'go':
      return `pkg:golang/${source}@${at}`
    case 'npm':
      return `pkg:npm/${encodeURIComponent(source)}@${at}`
    case 'stele':
      return `pkg:generic/${encodeURIComponent(name)}@${at}`
  }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
