/** A NoCloud disk: a small FAT file system labelled `cidata` that holds user data and the instance's name as meta-data, as clouds and hypervisors attach it. User
 * data holds secrets: nobody else may read it. */
import { closeSync, ftruncateSync, mkdirSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runTool, type Tools } from './tool.ts'

/** Writes the disk of the machine `name` into `folder` and returns its path. */
export async function writeSeed(
  tools: Tools,
  folder: string,
  { name: machine, userData }: { readonly name: string; readonly userData: string },
): Promise<string> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const disk = join(folder, 'cidata.img')
  const handle = openSync(disk, 'w', 0o600)
  ftruncateSync(handle, 4 * 1024 * 1024)
  closeSync(handle)
  const files = { 'user-data': userData, 'meta-data': `instance-id: ${machine}\n` }
  const binds = [folder]
  await runTool(tools, ['mkfs.vfat', '-n', 'CIDATA', disk], { binds })
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, name), text, { mode: 0o600 })
    await runTool(tools, ['mcopy', '-i', disk, join(folder, name), `::${name}`], { binds })
  }
  return disk
}
