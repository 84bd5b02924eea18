import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { filesOf } from '../../../images/observe.ts'
import { readOverlay } from '../../../images/overlay.ts'
import { addOverlay } from '../../../images/step/root.ts'
import { Tree } from '../../../images/tree.ts'

let repository: string
let overlay: Tree
beforeEach(() => {
  repository = mkdtempSync(join(tmpdir(), 'images-observe-'))
  overlay = new Tree(join(repository, 'images/root'))
  overlay.write('etc/hosts', 'one')
})
afterEach(() => rmSync(repository, { recursive: true }))

describe('the hashes of the overlay', () => {
  it('cover all that is copied: every file, notes too, and folders that are empty', () => {
    overlay.write('NOTE.md', 'note')
    overlay.makeFolder('opt/empty')
    const root = new Tree(join(repository, 'tree'))
    root.makeFolder('')
    addOverlay(root, overlay.folder)
    const copied = root.entries().map(({ path }) => `images/root/${path}`)
    expect(Object.keys(filesOf(repository, 'root')).sort()).toEqual(copied.sort())
    expect(copied).toContain('images/root/NOTE.md')
  })

  it('change with the text of a note', () => {
    overlay.write('NOTE.md', 'note')
    const before = filesOf(repository, 'root')
    overlay.write('NOTE.md', 'other')
    expect(filesOf(repository, 'root')).not.toEqual(before)
  })

  it.each(['etc/linked', 'folder'])('do not exist with a link in it (%s)', (path) => {
    mkdirSync(join(repository, 'secret'))
    writeFileSync(join(repository, 'secret/key'), 'k')
    symlinkSync(join(repository, path === 'folder' ? 'secret' : 'secret/key'), overlay.at(path))
    for (const read of [() => filesOf(repository, 'root'), () => readOverlay(overlay.folder)]) {
      expect(read).toThrow(expect.objectContaining({ code: 'refused' }))
      expect(read).toThrow(path)
    }
    const root = new Tree(join(repository, 'tree'))
    expect(() => addOverlay(root, overlay.folder)).toThrow(path)
  })
})

describe('addOverlay', () => {
  it('copies bytes that are no text as they are', () => {
    const bytes = Buffer.from('7f454c46fffe', 'hex')
    writeFileSync(overlay.at('etc/x'), bytes)
    const root = new Tree(join(repository, 'tree'))
    addOverlay(root, overlay.folder)
    expect(root.readBytes('etc/x')).toEqual(bytes)
  })
})
