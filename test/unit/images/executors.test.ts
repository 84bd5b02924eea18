import { readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { EXECUTORS, RECIPES } from '../../../images/executors.ts'
import { STEP_NAMES } from '../../../images/plan.ts'

const images = resolve(import.meta.dirname, '../../../images')

/** Files that a file imports for their values, and those that they do, by their path below images/. */
function importsOf(file: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(file)) return seen
  seen.add(file)
  const text = readFileSync(join(images, file), 'utf8')
  for (const [, names = '', from = ''] of text.matchAll(/^import (?!type )([^']*?) from '(\.[^']+)'/gms)) {
    const isTypeOnly = names
      .replace(/[{}\s]/g, '')
      .split(',')
      .every((name) => name === '' || name.startsWith('type'))
    if (!isTypeOnly) importsOf(relative(images, resolve(images, file, '..', from)), seen)
  }
  return seen
}

describe('the recipe of a step', () => {
  it.each(STEP_NAMES)('of %s lists every file whose change must run it again', (name) => {
    const [main = ''] = RECIPES[name]
    const missing = [...importsOf(main)].filter(
      (file) => file !== 'fault.ts' && !RECIPES[name].includes(file),
    )
    expect(missing).toEqual([])
  })

  it('belongs to a step that can be run', () => {
    expect(Object.keys(EXECUTORS).sort()).toEqual([...STEP_NAMES].sort())
  })
})
