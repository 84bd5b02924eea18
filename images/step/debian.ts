/** What both uses of mmdebstrap share. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** No recommended packages, no translations, no manuals. */
export const APT_OPTIONS: readonly string[] = [
  '--aptopt=APT::Install-Recommends "false"',
  '--aptopt=Acquire::Languages "none"',
  '--aptopt=Acquire::Retries "3"',
  '--dpkgopt=path-exclude=/usr/share/man/*',
  '--dpkgopt=path-exclude=/usr/share/locale/*',
  '--dpkgopt=path-exclude=/usr/share/info/*',
]

/** Writes the sources as a one-line list (a name that ends in .sources would be read as deb822) and returns its path. */
export function writeSources(folder: string, sources: readonly string[]): string {
  const file = join(folder, 'debian.list')
  writeFileSync(file, `${sources.join('\n')}\n`)
  return file
}
