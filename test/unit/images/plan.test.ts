import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { hash, plan, STEP_NAMES, type Observed, type StepName } from '../../../images/plan.ts'
import { parseContents, parseProfile } from '../../../images/profile.ts'

const images = join(import.meta.dirname, '../../../images')
const profile = parseProfile(readFileSync(join(images, 'profiles/qemu-amd64.yaml'), 'utf8'), 'p')
const umlProfile = parseProfile(readFileSync(join(images, 'profiles/uml-amd64.yaml'), 'utf8'), 'p')
const contents = parseContents(readFileSync(join(images, 'contents/node.yaml'), 'utf8'), 'c')
const observed: Observed = {
  sources: ['deb http://mirror.test/debian trixie main'],
  version: '1.2.3',
  files: { runtime: { a: '1' }, bundles: { b: '2' }, root: { c: '3' }, node: { d: '4' }, uml: { e: '5' } },
  recipes: Object.fromEntries(STEP_NAMES.map((name) => [name, name])) as Record<StepName, string>,
  signer: undefined,
}

/** Steps whose key differs between two plans. */
function changed(other: Partial<Observed>, otherProfile = profile): readonly string[] {
  const before = plan(profile, contents, observed).steps
  const after = plan(otherProfile, contents, { ...observed, ...other }).steps
  return before.filter((step, index) => step.key !== after[index]?.key).map((step) => step.name)
}

describe('the plan', () => {
  it('is the same for the same arguments', () => {
    expect(plan(profile, contents, observed)).toEqual(plan(profile, contents, structuredClone(observed)))
  })

  it('has every step once, each after those it needs', () => {
    const seen: string[] = []
    for (const step of plan(profile, contents, observed).steps) {
      expect(seen).toEqual(expect.arrayContaining([...step.after]))
      seen.push(step.name)
    }
    expect(seen).toEqual(STEP_NAMES.filter((name) => !name.startsWith('uml-')))
  })

  it('has the steps alone that the outputs of the profile are made of', () => {
    const names = plan(umlProfile, contents, observed).steps.map((step) => step.name)
    expect(names).toEqual(STEP_NAMES.filter((name) => !['initrd', 'verity', 'uki', 'disk'].includes(name)))
  })

  it('makes one root for both profiles, so that what runs as a program is what is shipped', () => {
    const keys = (of: typeof profile) =>
      new Map(plan(of, contents, observed).steps.map((step) => [step.name, step.key]))
    const [disk, uml] = [keys(profile), keys(umlProfile)]
    for (const name of ['tools', 'root', 'inspect', 'filesystem'] as const) {
      expect(uml.get(name)).toBe(disk.get(name))
    }
  })

  it('builds the kernel of User-Mode Linux again when its configuration changes, and nothing of a disk', () => {
    const files = { ...observed.files, uml: { e: 'other' } }
    expect(changed({ files })).toEqual([])
    const before = plan(umlProfile, contents, observed).steps
    const after = plan(umlProfile, contents, { ...observed, files }).steps
    const names = before.filter((step, index) => step.key !== after[index]?.key).map((step) => step.name)
    expect(names).toEqual(['uml-kernel', 'manifest'])
  })

  it('runs nothing but bundles and what follows them again when the agent changes', () => {
    expect(changed({ files: { ...observed.files, bundles: { b: 'other' } } })).toEqual([
      ...['bundles', 'root', 'inspect', 'initrd', 'filesystem', 'verity', 'uki', 'disk', 'manifest'],
    ])
  })

  it('builds no compiler and unpacks no package again when a kernel argument changes', () => {
    const other = { ...profile, commandLine: [...profile.commandLine, 'debug'] }
    expect(changed({}, other)).toEqual(['uki', 'disk', 'manifest'])
  })

  it('makes the disk again when it is signed, and by another key', () => {
    expect(changed({ signer: 'a' })).toEqual(['uki', 'disk', 'manifest'])
  })

  it('runs a step again when its recipe changes', () => {
    const recipes = { ...observed.recipes, disk: 'other' }
    expect(changed({ recipes })).toEqual(['disk', 'manifest'])
  })

  it('takes everything again from another mirror', () => {
    expect(changed({ sources: ['deb http://other.test/debian trixie main'] })).not.toContain('bundles')
  })
})

describe('the hash of a value', () => {
  it('does not depend on the order of keys, but on that of lists', () => {
    expect(hash({ a: 1, b: [1, 2] })).toBe(hash({ b: [1, 2], a: 1 }))
    expect(hash([1, 2])).not.toBe(hash([2, 1]))
  })
})
