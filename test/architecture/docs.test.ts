import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '../..')

/** What git tracks or would: not what a build left behind. */
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((name) => name !== '' && existsSync(join(root, name)))
const pages = files.filter((name) => name.endsWith('.md'))

function linksOf(page: string): string[] {
  const text = readFileSync(join(root, page), 'utf8').replace(/```[\s\S]*?```/g, '')
  return [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)]
    .map((match) => match[1] ?? '')
    .filter((link) => !/^[a-z]+:/.test(link))
}

/** Last cells of the tables whose header ends in `test`: which test holds what the line promises. */
function promisedTests(page: string): string[] {
  const rows = readFileSync(join(root, page), 'utf8').split('\n')
  const promised: string[] = []
  let isPromising = false
  for (const row of rows) {
    if (!row.startsWith('|')) isPromising = false
    else if (/\|\s*tests?\s*\|$/.test(row)) isPromising = true
    else if (isPromising)
      promised.push(
        ...[...(row.split('|').at(-2) ?? '').matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? ''),
      )
  }
  return promised
}

function isTest(name: string): boolean {
  const bare = name.replace(/^test\//, '').replace(/[:/]$/, '')
  const candidates = [bare, `${bare}.test.ts`, `${bare}.ts`].map((candidate) => join(root, 'test', candidate))
  if (candidates.some(existsSync)) return true
  return files.some(
    (file) => file.startsWith('test/') && file.endsWith(`/${bare.replace(/\.test\.ts$/, '')}.test.ts`),
  )
}

describe('documentation', () => {
  it.each(pages)('%s links to what exists', (page) => {
    const broken = linksOf(page).filter((link) => !existsSync(resolve(root, dirname(page), link)))
    expect(broken).toEqual([])
  })

  it.each(pages.filter((page) => promisedTests(page).length > 0))('%s promises tests that exist', (page) => {
    expect(promisedTests(page).filter((name) => !isTest(name))).toEqual([])
  })

  it('has a threat table for each part that is reached from outside', () => {
    for (const part of ['agent/core', 'agent/gateway', 'agent/trust', 'pki', 'bootstrap-provider']) {
      expect(readFileSync(join(root, part, 'README.md'), 'utf8'), part).toMatch(
        /^\| threat \|.*\n\|[-|]+\n\| /m,
      )
    }
  })
})

describe('the tree', () => {
  it('has the five folders and nothing else on top', () => {
    const visible = readdirSync(root).filter((name) => !name.startsWith('.') && name !== 'node_modules')
    const wanted = [
      'README.md',
      'agent',
      'bootstrap-provider',
      'images',
      'package-lock.json',
      'package.json',
      'pki',
      'test',
      'tsconfig.json',
    ]
    expect(
      visible.filter((name) => files.some((file) => file === name || file.startsWith(`${name}/`))).sort(),
    ).toEqual(wanted)
  })

  it('holds no private key', () => {
    const block = new RegExp(`-----BEGIN ${'(?:EC |RSA |ENCRYPTED )?'}PRIVATE KEY-----\\s+[A-Za-z0-9+/=]{40}`)
    const holding = files.filter(
      (name) => !name.endsWith('.binpb') && block.test(readFileSync(join(root, name), 'latin1')),
    )
    expect(holding).toEqual([])
  })
})
