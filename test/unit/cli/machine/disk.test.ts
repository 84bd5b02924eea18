import { mkdtemp, open, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { copyDisk, type DiskOptions } from '../../../../agent/cli/machine/disk.ts'

const GIB = 1024 ** 3

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stele-disk-'))
  await writeFile(join(folder, 'image'), 'boot sector')
  await truncate(join(folder, 'image'), GIB)
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

describe('the disk of a machine', () => {
  it('begins as the image, is as large as it was asked for, and takes room only for what is written', async () => {
    await copyDisk(asked())
    const { size, blocks } = await stat(join(folder, 'disk'))
    expect(size).toBe(3 * GIB)
    expect(blocks * 512).toBeLessThan(1024 * 1024)
    expect(await beginning('disk')).toBe('boot sector')
    expect(await readdir(folder)).toEqual(['disk', 'image'])
  })

  it('stays as it is when it is there', async () => {
    await writeFile(join(folder, 'disk'), 'what the node wrote')
    await copyDisk(asked())
    expect(await readFile(join(folder, 'disk'), 'utf8')).toBe('what the node wrote')
  })

  it('is made anew from what a kill left half made', async () => {
    await writeFile(join(folder, 'disk.partial'), 'half')
    await copyDisk(asked())
    expect(await beginning('disk')).toBe('boot sector')
    expect(await readdir(folder)).toEqual(['disk', 'image'])
  })

  it('is not there, nor half there, when the copy fails, and the reason is what the system said', async () => {
    const copying = copyDisk({ ...asked(), from: join(folder, 'none') })
    await expect(copying).rejects.toMatchObject({ code: 'file_unwritable' })
    await expect(copying).rejects.toThrow('No such file')
    expect(await readdir(folder)).toEqual(['image'])
  })

  it('is not there when the person left, and nobody calls that a failure of the disk', async () => {
    const left = new Error('the person left')
    await expect(copyDisk({ ...asked(), signal: AbortSignal.abort(left) })).rejects.toBe(left)
    expect(await readdir(folder)).toEqual(['image'])
  })
})

function asked(): DiskOptions {
  const signal = AbortSignal.timeout(20_000)
  return { from: join(folder, 'image'), to: join(folder, 'disk'), giB: 3, signal }
}

async function beginning(name: string): Promise<string> {
  await using file = await open(join(folder, name))
  const { buffer } = await file.read({ buffer: Buffer.alloc(11), position: 0 })
  return buffer.toString()
}
