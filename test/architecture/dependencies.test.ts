import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '../..')

type Manifest = Readonly<
  Record<'dependencies' | 'devDependencies' | 'optionalDependencies', Readonly<Record<string, string>>>
>

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest
const versions = { ...manifest.dependencies, ...manifest.devDependencies, ...manifest.optionalDependencies }

function rowsOfDecision(): string[] {
  const text = readFileSync(join(root, '.adr/0001-dependencies.md'), 'utf8')
  const firstCells = [...text.matchAll(/^\| (`[^|]+) \|/gm)].map((match) => match[1] ?? '')
  return firstCells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? ''))
}

describe('dependencies', () => {
  it('have a reason each, and no reason outlives its package', () => {
    expect(rowsOfDecision().sort()).toEqual(Object.keys(versions).sort())
  })

  it('are exact versions', () => {
    for (const [name, version] of Object.entries(versions)) {
      expect(version, name).toMatch(/^(npm:[a-z]+@)?\d+\.\d+\.\d+$/)
    }
  })

  it('record no download address in the lock file', () => {
    expect(readFileSync(join(root, 'package-lock.json'), 'utf8')).not.toContain('"resolved": "http')
  })
})
